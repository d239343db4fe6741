package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

func newClient() *client {
	p := weir.TokenBucket(weir.PerSecond(10).WithBurst(3))
	c := &client{meter: *newMeter(8)}
	c.forget(&p)
	return c
}

func denied(before, after, retryAfter time.Duration, n, remaining int) answer {
	d := weir.Decision{RetryAfter: retryAfter, Remaining: remaining}
	return answer{d, true, n, before, after}
}

func allowed(before, after time.Duration, n int) answer {
	return answer{weir.Decision{Allowed: true}, false, n, before, after}
}

func TestClientFindsWhatContradictsRetryAfter(t *testing.T) {
	first := denied(0, 2*ms, 100*ms, 2, 1)
	for _, c := range []struct {
		next answer
		says string
	}{
		{allowed(90*ms, 100*ms-1, 2), "2 allowed 1ns before the time at which 2 were said to be"},
		{allowed(90*ms, 100*ms-1, 3), "3 allowed 1ns before the time at which 2 were said to be"},
		{allowed(90*ms, 100*ms, 2), ""},
		{allowed(90*ms, 99*ms, 1), ""},
		{answer{n: 2, before: 102 * ms, after: 102 * ms}, "2 denied 0s after the time at which 2 were said to be allowed"},
		{answer{n: 2, before: 102*ms - 1, after: 200 * ms}, ""},
		{answer{n: 3, before: 102 * ms, after: 102 * ms}, ""},
	} {
		client := newClient()
		_, err := client.see(first)
		require.NoError(t, err)
		if _, err = client.see(c.next); c.says == "" {
			require.NoError(t, err, "%+v", c.next)
			continue
		}
		require.EqualError(t, err, c.says)
	}
}

func TestClientFindsWhatContradictsRemaining(t *testing.T) {
	c := newClient()
	first := allowed(0, 0, 1)
	first.told, first.Remaining = true, 2
	_, err := c.see(first)
	require.NoError(t, err)
	_, err = c.see(answer{n: 3})
	require.NoError(t, err, "3 are more than the 2")
	_, err = c.see(allowed(ms, ms, 1))
	require.NoError(t, err)
	_, err = c.see(answer{n: 1, before: ms, after: ms})
	require.EqualError(t, err, "1 denied, although 1 were said to remain")
}

func TestClientFindsAnOverrun(t *testing.T) {
	c := newClient()
	_, err := c.see(allowed(0, 0, 3))
	require.NoError(t, err)
	_, err = c.see(allowed(50*ms, 50*ms, 1))
	require.EqualError(t, err, "4 admitted within 50.000001ms, in which at most 3 can be")
}

func TestClientUnderAnotherRuleIsHeldToNothingSaidBefore(t *testing.T) {
	c := newClient()
	_, err := c.see(denied(0, 0, time.Hour, 1, 0))
	require.NoError(t, err)
	_, err = c.see(allowed(2*time.Hour, 2*time.Hour, 3))
	require.NoError(t, err)
	c.forget(c.rule)
	_, err = c.see(allowed(2*time.Hour, 2*time.Hour, 3))
	require.NoError(t, err)
}
