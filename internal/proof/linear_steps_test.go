package proof

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"github.com/stretchr/testify/require"
)

// A during is a call with when it begins and ends, and the instants that the clock
// shows then.
type during struct {
	begins, ends int64
	from, to     int
	*call
	answer any
}

// history returns the history of some calls.
func (s *script) history(calls []during) (ops []porcupine.Operation) {
	for i, d := range calls {
		op := porcupine.Operation{ClientId: i, Call: d.begins, Return: d.ends, Input: made{d.call, d.from, d.to}, Output: d.answer}
		ops = append(ops, op)
		if s.shares() && d.verb == "SetPolicy" {
			d.first = &call{verb: "SetShared", policy: d.policy}
			op.Input = made{d.first, d.from, d.to}
			ops = append(ops, op)
		}
	}
	return ops
}

// What is several steps is linearizable as such, if other calls come between them,
// and only then: not if the clock shows all the time what it shows in the end, or is
// one for which states have a newest instant.
func TestStepsOfACallAreLinearizable(t *testing.T) {
	five, four := weir.TokenBucket(weir.PerSecond(5)), weir.TokenBucket(weir.PerSecond(4))
	take := func(key, n int) *call { return &call{verb: "Take", key: key, n: n} }
	peek := func(key int) *call { return &call{verb: "Peek", key: key, n: 1} }
	set := func(p weir.Policy) *call { return &call{verb: "SetPolicy", policy: p} }
	fives := func(allowed bool, remaining int, retry, reset time.Duration) weir.Decision {
		return weir.Decision{Allowed: allowed, Remaining: remaining, RetryAfter: retry, Policy: five.Name(), Limit: 5, ResetAfter: reset}
	}
	fours := func(allowed bool, remaining int, retry, reset time.Duration) weir.Decision {
		return weir.Decision{Allowed: allowed, Remaining: remaining, RetryAfter: retry, Policy: four.Name(), Limit: 4, ResetAfter: reset}
	}
	const ms = time.Millisecond
	for _, test := range []struct {
		name     string
		options  model.Options
		when     stepping
		instants []time.Duration
		calls    []during // the third is the late one
	}{
		{"the shared state is under a new policy before the clients", model.Options{MaxClients: 2, Overflow: weir.ShareOverflow},
			anywhere, []time.Duration{0, 3 * time.Second}, []during{
				{1, 2, 0, 0, take(1, 1), fives(true, 4, 0, 200*ms)},
				{3, 4, 0, 0, take(3, 1), fives(true, 4, 0, 200*ms)},
				{5, 8, 0, 1, take(0, 3), fours(true, 1, 0, 3750*ms)},
				{6, 7, 1, 1, set(four), nil},
			}},
		{"and at an instant of its own", model.Options{MaxClients: 1, Overflow: weir.ShareOverflow},
			anywhere, []time.Duration{0, 100 * ms}, []during{
				{1, 2, 0, 0, take(1, 5), fives(true, 0, 0, time.Second)},
				{3, 4, 0, 0, take(0, 5), fives(true, 0, 0, time.Second)},
				{5, 8, 0, 1, set(four), nil},
				{9, 10, 1, 1, peek(1), fours(false, 0, 250*ms, time.Second)},
				{11, 12, 1, 1, peek(0), fours(false, 0, 150*ms, 900*ms)},
			}},
		{"DenyNew's RetryAfter counts from a late reading", model.Options{MaxClients: 1, Overflow: weir.DenyNew},
			forwards, []time.Duration{0, 250 * ms}, []during{
				{1, 2, 0, 0, take(1, 2), fives(true, 3, 0, 400*ms)},
				{3, 4, 0, 0, take(1, 3), fives(true, 0, 0, time.Second)},
				{5, 8, 0, 1, take(0, 3), fives(false, 0, 1200*ms, 0)},
				{6, 7, 1, 1, take(1, 1), fives(true, 0, 0, 950*ms)},
			}},
		{"EvictFullest looks for the fullest at a late reading", model.Options{MaxClients: 2, Overflow: weir.EvictFullest},
			forwards, []time.Duration{0, 500 * ms}, []during{
				{1, 2, 0, 0, take(1, 5), fives(true, 0, 0, time.Second)},
				{3, 4, 0, 0, take(2, 3), fives(true, 2, 0, 600*ms)},
				{5, 8, 0, 0, take(0, 1), fives(true, 4, 0, 200*ms)}, // at the second reading 1 would go anyway
				{6, 7, 1, 1, take(2, 4), fives(true, 0, 0, 900*ms)},
				{9, 10, 1, 1, peek(2), fives(false, 0, 100*ms, 900*ms)}, // 1 went, which is full sooner
			}},
		{"who has no place by one reading shares at a later one", model.Options{MaxClients: 1, Overflow: weir.ShareOverflow},
			forwards, []time.Duration{0, 3 * time.Second}, []during{
				{1, 2, 0, 0, take(1, 1), fives(true, 4, 0, 200*ms)},
				{3, 4, 0, 0, take(2, 1), fives(true, 4, 0, 200*ms)},
				{5, 6, 0, 1, take(2, 1), fives(true, 4, 0, 200*ms)},
				{9, 10, 1, 1, peek(3), fives(true, 3, 0, 400*ms)},
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &script{policy: five, options: test.options, keys: 4, when: test.when, instants: test.instants}
			require.True(t, porcupine.CheckOperations(s.sequential(), s.history(test.calls)))
			if s.options.Overflow == weir.EvictFullest {
				s.when = anywhere
			} else {
				test.calls[2].from = test.calls[2].to
			}
			require.False(t, porcupine.CheckOperations(s.sequential(), s.history(test.calls)))
		})
	}
}
