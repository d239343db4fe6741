// Package promlimit shows rate limiters to Prometheus. A [Collector] asks each limiter for its
// Stats when it is scraped, and never in between: a decision costs what it costs without it.
//
//	limits := promlimit.NewCollector()
//	limits.Add("logins", logins)
//	limits.Add("api", api)
//	prometheus.MustRegister(limits)
//
// *weir.Limiter, *weir.PerClient and *redislimit.PerClient are Sources, as is all else that has
// their Stats.
//
// # Metrics
//
// Each has the label limiter, the name that was given to Add:
//
//	weir_decisions_total{decision="allowed"}   decisions that let a request through
//	weir_decisions_total{decision="denied"}    decisions that did not, or would not have without WithShadow
//	weir_shadowed_total                        of the denied, those that WithShadow let through
//	weir_waiting                               reservations whose turn is still to come, those of Wait included
//	weir_clients                               keys held now
//	weir_evicted_total                         keys dropped because they were full
//	weir_overflowed_total                      decisions for new keys while WithMaxClients had no room
//	weir_local_total                           decisions made without asking the store that all share
//	weir_fallback_total                        decisions made because that store did not answer
//
// Every limiter has all of them. What it does not count is 0, as weir_clients is for a Limiter and
// for those in a store: series that come and go make sums and alerts wrong, and a type says
// nothing that its numbers do not say. Those of one limiter are of one call of Stats, so that
// they agree with each other.
//
// # Names
//
// A registry takes one Collector; give it all limiters. Where there have to be several, or the
// metrics need labels of their own, register them with prometheus.WrapRegistererWith:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"tenant": "acme"}, registry).MustRegister(limits)
//
// A name is a label's value, so there should be few of them: name what is limited, not who is.
//
// # Dashboard and alerts
//
// The folder of this package has grafana.json, a dashboard to import, and alerts.yml, rules to start from.
package promlimit
