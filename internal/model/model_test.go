package model_test

import (
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"github.com/stretchr/testify/require"
)

// timeline is a model of a Limiter, and the clock that it reads.
type timeline struct {
	*model.Limiter
	now time.Duration
}

func newTimeline(p weir.Policy) *timeline {
	s := new(timeline)
	s.Limiter = model.NewLimiter(p, model.Options{Now: func() time.Duration { return s.now }})
	return s
}

func (s *timeline) tokens() int { return s.Peek(0).Remaining }

// golang/go#56924
func TestCase17ACancelledReservationNeverWas(t *testing.T) {
	s := newTimeline(weir.TokenBucket(weir.PerSecond(10).WithBurst(20)))
	s.Reserve(15, weir.Never)
	s.now = 100 * time.Millisecond
	second := s.Reserve(10, weir.Never)
	require.Equal(t, 400*time.Millisecond, second.Delay())
	s.now = 200 * time.Millisecond
	s.Reserve(2, weir.Never)
	s.now = 300 * time.Millisecond
	second.Cancel()
	second.Cancel()
	require.Equal(t, 6, s.tokens())
}

// golang/go#69419
func TestCase18ReservationsCancelledInAnyOrder(t *testing.T) {
	s := newTimeline(weir.TokenBucket(weir.PerSecond(1).WithBurst(10)))
	s.Reserve(10, weir.Never)
	five, three := s.Reserve(5, weir.Never), s.Reserve(3, weir.Never)
	require.Equal(t, 18*time.Second, s.Peek(10).RetryAfter)
	five.Cancel()
	require.Equal(t, 13*time.Second, s.Peek(10).RetryAfter)
	require.Equal(t, 8*time.Second, three.Delay(), "its instant stays")
	three.Cancel()
	require.Equal(t, 10*time.Second, s.Peek(10).RetryAfter)
}

func TestEachAlgorithmSaysWhenItAdmits(t *testing.T) {
	l := weir.Per(4, 10*time.Second)
	for _, c := range []struct {
		policy weir.Policy
		retry  time.Duration // of 1 when 4 were taken at 3 s and it is 5 s
		reset  time.Duration
	}{
		{weir.TokenBucket(l), 500 * time.Millisecond, 8 * time.Second},
		{weir.FixedWindow(l), 5 * time.Second, 5 * time.Second},
		{weir.SlidingWindow(l), 8 * time.Second, 8 * time.Second},
		{weir.SlidingCounter(l), 7500 * time.Millisecond, 15 * time.Second},
		{weir.All(weir.TokenBucket(l), weir.SlidingWindow(l)), 8 * time.Second, 8 * time.Second},
		{weir.FirstOf(weir.SlidingWindow(l), weir.TokenBucket(weir.PerSecond(1).WithBurst(0))), 8 * time.Second, 8 * time.Second},
	} {
		s := newTimeline(c.policy)
		s.now = 3 * time.Second
		require.True(t, s.Take(4).Allowed)
		s.now = 5 * time.Second
		d := s.Peek(1)
		require.False(t, d.Allowed)
		require.Equal(t, c.retry, d.RetryAfter, "%v", c.policy)
		require.Equal(t, c.reset, d.ResetAfter, "%v", c.policy)
		s.now += c.retry - 1
		require.False(t, s.Peek(1).Allowed, "%v", c.policy)
		s.now++
		require.True(t, s.Peek(1).Allowed, "%v", c.policy)
	}
}

// What weir.WithStaleAfter leaves open, which a sweep is not compared by.
func TestItIsOpenIfWhatAPolicyMakesFullIsHeld(t *testing.T) {
	var now time.Duration
	clients := model.NewPerClient[int](weir.MustParsePolicy("fixed-window 1/s"), model.Options{
		Now:        func() time.Duration { return now },
		StaleAfter: time.Second,
	})
	clients.Take(0, 1)
	now = time.Second
	require.False(t, clients.Lingers())
	clients.SetPolicy(weir.MustParsePolicy("token-bucket 1/s"))
	require.True(t, clients.Lingers())
	now = 2 * time.Second
	require.False(t, clients.Lingers())
	require.Equal(t, 1, clients.Sweep())
}
