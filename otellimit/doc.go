// Package otellimit shows rate limiters to OpenTelemetry: what they count as metrics, and single
// decisions on the spans of requests. Of OpenTelemetry it needs the API, not an SDK.
//
// # Metrics
//
// [Register] asks each limiter for its Stats when a reader collects, and never in between: a
// decision costs what it costs without it.
//
//	limits, err := otellimit.Register(otel.GetMeterProvider())
//	...
//	defer limits.Close()
//	limits.Add("logins", logins)
//	limits.Add("api", api)
//
// *weir.Limiter, *weir.PerClient and *redislimit.PerClient are Sources, as is all else that has
// their Stats. Each of the instruments has the attribute weir.limiter, the name that was given to
// Add; weir.decisions has weir.decision too, which is "allowed" or "denied".
//
//	weir.decisions   {decision}     counter          decisions, of which the denied include those in shadow
//	weir.shadowed    {decision}     counter          of the denied, those that WithShadow let through
//	weir.waiting     {reservation}  up-down counter  reservations whose turn is still to come, those of Wait included
//	weir.clients     {client}       up-down counter  keys held now
//	weir.evicted     {client}       counter          keys dropped because they were full
//	weir.overflowed  {decision}     counter          decisions for new keys while WithMaxClients had no room
//	weir.local       {decision}     counter          decisions made without asking the store that all share
//	weir.fallback    {decision}     counter          decisions made because that store did not answer
//
// Every limiter has all of them. What it does not count is 0, as weir.clients is for a Limiter and
// for those in a store. Those of one limiter are of one call of Stats, so that they agree with
// each other.
//
// # Spans
//
// [Annotate] puts a Decision on the span of a context, and [Middleware] does for each request that
// httplimit decides about, allowed or denied.
package otellimit
