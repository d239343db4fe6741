package weir

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// askedOf returns a request's question to a Limiter or a PerClient, as it has found the state.
func askedOf(l *Limiter, c *clients, n int) *asked {
	a := &asked{n: n}
	if c != nil {
		a.clients, a.core, a.hash = c, &c.core, someHash
	} else {
		a.cell, a.core = &l.cell, &l.core
	}
	a.find()
	if a.word != nil {
		a.askWord(a.decider.now())
	}
	return a
}

// TestAWordIsFoundWhereAStateIsOne: not if it is not held, or is apart, or is one of several words.
func TestAWordIsFoundWhereAStateIsOne(t *testing.T) {
	bucket := TokenBucket(Per(3, 30*time.Second))
	l := asWord(New(bucket, WithClock(NewManualClock())))
	require.Equal(t, &l.cell.held.Load().slot[0], askedOf(l, nil, 1).word)
	require.True(t, l.Reserve(3).OK())
	require.True(t, l.Reserve(1).OK())
	require.Nil(t, askedOf(l, nil, 1).word, "apart")
	require.Nil(t, askedOf(New(bucket, WithClock(NewManualClock())), nil, 1).word, "of two words")

	c := oneWord(bucket, NewManualClock())
	require.Nil(t, askedOf(nil, c, 1).word, "not held")
	require.True(t, c.allow(someHash))
	place, _ := c.states.Find(someHash)
	require.Equal(t, place.Word(), askedOf(nil, c, 1).word)
	d := *c.decider.Load()
	d.epoch++
	c.decider.Store(&d)
	require.Nil(t, askedOf(nil, c, 1).word, "of another epoch")
	a := askedOf(nil, c, 1)
	a.word = new(uint64)
	a.find()
	require.Nil(t, a.word, "of an earlier look")
}

// TestAWordIsAskedWhatItWouldTell: as any other state, to the nanosecond.
func TestAWordIsAskedWhatItWouldTell(t *testing.T) {
	clock := NewManualClock()
	l := asWord(New(TokenBucket(Per(3, 30)), WithClock(clock)))
	for range 4 {
		for n, want := range map[int]time.Duration{-1: Never, 0: 0, 1: l.Peek(1).RetryAfter, 3: l.Peek(3).RetryAfter, 4: Never} {
			a := askedOf(l, nil, n)
			require.Equal(t, want, a.wait, "%d", n)
		}
		l.Allow()
		clock.Advance(1)
	}
}

// TestAWordThatOthersChangeIsChargedAsItIsByThen: or not at all.
func TestAWordThatOthersChangeIsChargedAsItIsByThen(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(l *Limiter)
		charged   bool
		left      int
	}{
		"nobody":          {func(*Limiter) {}, true, 1},
		"one is taken":    {func(l *Limiter) { l.Allow() }, true, 0},
		"all are taken":   {func(l *Limiter) { l.AllowN(3) }, false, 0},
		"two are taken":   {func(l *Limiter) { l.AllowN(2) }, false, 1},
		"it comes apart":  {func(l *Limiter) { l.AllowN(2); l.Reserve(2) }, false, 0},
		"one is reserved": {func(l *Limiter) { l.Reserve(1) }, true, 0},
		"time has passed": {func(l *Limiter) { l.AllowN(3); l.clock.(*ManualClock).Advance(30 * time.Second) }, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := asWord(New(TokenBucket(Per(3, 30*time.Second)), WithClock(NewManualClock())))
			a := askedOf(l, nil, 2)
			require.Zero(t, a.wait)
			c.meanwhile(l)
			require.Equal(t, c.charged, a.chargeWord())
			require.Equal(t, c.charged, a.charged)
			require.Equal(t, c.left, l.Tokens())
			if c.charged {
				require.Equal(t, a.few[0], *a.word)
				a.giveBack()
				require.Equal(t, c.left+2, l.Tokens())
			}
		})
	}
}

// TestAWordThatIsUsedUpByANanosecondIsNotCharged: nor left for later.
func TestAWordThatIsUsedUpByANanosecondIsNotCharged(t *testing.T) {
	l := asWord(New(TokenBucket(Per(3, 3)), WithClock(NewManualClock())))
	a := askedOf(l, nil, 3)
	require.True(t, l.Allow())
	require.False(t, a.chargeWord())
	require.Equal(t, 2, l.Tokens())
}

// visited returns a request's question to a state in a slot, which it has charged.
func visited(t *testing.T, l *Limiter, c *clients, n int) *asked {
	if c != nil {
		require.True(t, c.allow(someHash)) // which gets it a slot
	}
	a := askedOf(l, c, n)
	a.now = a.decider.now()
	require.True(t, a.visit(true, true, nil))
	require.Nil(t, a.ticket)
	return a
}

// TestWhatIsGivenBackMovesWhatWasChargedBehindIt: so that is given back in part, if time has passed.
func TestWhatIsGivenBackMovesWhatWasChargedBehindIt(t *testing.T) {
	clock := NewManualClock()
	l := New(TokenBucket(PerSecond(1).WithBurst(10)), WithClock(clock))
	first, second := visited(t, l, nil, 3), visited(t, l, nil, 3)
	require.True(t, l.AllowN(2))
	first.giveBack()
	require.Equal(t, 5, l.Tokens())
	clock.Advance(2 * time.Second)
	second.giveBack()
	require.Equal(t, 8, l.Tokens())
}

// TestWhatIsGivenBackUnderAnotherPolicyIsNot: be it all keys' or the key's own, or one that has come back.
func TestWhatIsGivenBackUnderAnotherPolicyIsNot(t *testing.T) {
	p := TokenBucket(PerHour(10))
	other, like := FixedWindow(PerHour(10)), TokenBucket(PerHour(20))
	for name, meanwhile := range map[string]func(c *clients){
		"of all":          func(c *clients) { _ = c.setPolicy(other) },
		"that was left":   func(c *clients) { _ = c.setPolicy(like); _ = c.setPolicy(p) },
		"of its own":      func(c *clients) { c.decideAs(someHash, All(p, other).spec, 1, nil) },
		"of its own kind": func(c *clients) { c.decideAs(someHash, like.spec, 1, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			c := NewPerClient[int](p, WithClock(NewManualClock()), WithSweepEvery(0)).clients
			a := visited(t, nil, c, 4)
			meanwhile(c)
			var before, after Decision
			c.decideKey(c.tally.Line(), someHash, 0, false, &before)
			a.giveBack()
			c.decideKey(c.tally.Line(), someHash, 0, false, &after)
			require.Equal(t, before, after)
		})
	}
}

// TestWhatIsGivenBackToAKeyThatIsGoneBringsItNotBack: it was reset meanwhile.
func TestWhatIsGivenBackToAKeyThatIsGoneBringsItNotBack(t *testing.T) {
	c := NewPerClient[int](TokenBucket(PerHour(10)), WithClock(NewManualClock()), WithSweepEvery(0)).clients
	a := visited(t, nil, c, 4)
	c.reset(someHash)
	require.Zero(t, c.states.Len())
	a.giveBack()
	require.Zero(t, c.states.Len())
}
