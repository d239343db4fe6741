package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

const ms = time.Millisecond

func newMeter(ring int) *meter { return &meter{newest: make([]admission, ring)} }

// at is an admission with readings that are as close as can be.
func (m *meter) at(p weir.Policy, t time.Duration, n int) (bool, error) { return m.add(p, t, t, n) }

func TestMeterFindsAnOverrun(t *testing.T) {
	p := weir.TokenBucket(weir.PerSecond(10).WithBurst(3)) // one each 100 ms
	m := newMeter(8)
	for _, step := range []struct {
		at   time.Duration
		n    int
		full bool
		over string
	}{
		{0, 1, false, ""},
		{0, 2, true, ""},
		{100 * ms, 1, true, ""},
		{300 * ms, 1, false, ""},
		{300 * ms, 1, true, ""},
		{400*ms - 1, 1, true, "7 admitted within 400ms, in which at most 6 can be"},
	} {
		full, err := m.at(p, step.at, step.n)
		require.Equal(t, step.full, full, "%v", step.at)
		if step.over == "" {
			require.NoError(t, err, "%v", step.at)
			continue
		}
		require.EqualError(t, err, step.over)
	}
}

// What is certain is only that it was between the readings.
func TestMeterErrsTowardsInnocence(t *testing.T) {
	p := weir.TokenBucket(weir.PerSecond(10).WithBurst(1))
	m := newMeter(4)
	_, err := m.add(p, 0, 60*ms, 1) // at 0, maybe
	require.NoError(t, err)
	full, err := m.add(p, 70*ms, 100*ms, 1)
	require.NoError(t, err, "at 100 ms, maybe")
	require.True(t, full)

	m = newMeter(4)
	_, err = m.add(p, 1, 60*ms, 1)
	require.NoError(t, err)
	_, err = m.add(p, 70*ms, 100*ms, 1)
	require.EqualError(t, err, "2 admitted within 100ms, in which at most 1 can be")
}

// Of those who ask at once one that began earlier may be added later.
func TestMeterTakesAdmissionsInAnyOrder(t *testing.T) {
	p := weir.SlidingWindow(weir.Per(2, 100*ms))
	m := newMeter(4)
	_, err := m.add(p, 50*ms, 60*ms, 1)
	require.NoError(t, err)
	_, err = m.add(p, 10*ms, 70*ms, 1)
	require.NoError(t, err)
	_, err = m.add(p, 80*ms, 109*ms, 1)
	require.EqualError(t, err, "3 admitted within 99.000001ms, in which at most 2 can be")

	m = newMeter(4)
	_, err = m.add(p, 50*ms, 60*ms, 1)
	require.NoError(t, err)
	_, err = m.add(p, 10*ms, 70*ms, 1)
	require.NoError(t, err)
	_, err = m.add(p, 80*ms, 110*ms, 1)
	require.NoError(t, err, "the second may have been at 10 ms and this at 110 ms")
}

func TestMeterHoldsTheWholeLifeAgainstTheBound(t *testing.T) {
	p := weir.TokenBucket(weir.PerHour(3))
	m := newMeter(2) // which is all that it remembers one by one
	for range 3 {
		_, err := m.at(p, time.Minute, 1)
		require.NoError(t, err)
	}
	_, err := m.at(p, 2*time.Minute, 1)
	require.EqualError(t, err, "4 admitted within 1m0.000000001s, in which at most 3 can be")
	m.clear()
	_, err = m.at(p, 2*time.Minute, 3)
	require.NoError(t, err)
}

// A real limiter is never found out, and half of it always is.
func TestMeterOfEveryPolicy(t *testing.T) {
	for _, p := range append(populous(), contested()...) {
		clock := weir.NewManualClock()
		l := weir.New(p, weir.WithClock(clock))
		honest, twice := newMeter(64), newMeter(64)
		found := false
		for range 3000 {
			ok := l.Allow()
			if ok {
				_, err := honest.at(p, clock.Now(), 1)
				require.NoError(t, err, p.Name())
				_, err = twice.at(p, clock.Now(), 3)
				found = found || err != nil
			}
			if !ok {
				clock.Advance(l.Peek(1).RetryAfter)
			}
		}
		require.True(t, found, p.Name())
	}
}
