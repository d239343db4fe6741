package httplimit

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const someHost = "http://a.example:80"

func newVisit(t *testing.T, number uint64) *visit {
	return &visit{ctx: t.Context(), key: someHost, number: number, patience: time.Hour}
}

// letIn returns a table with a visit that was let in.
func letIn(t *testing.T) (*hostTable, *visit) {
	table, v := new(hostTable), newVisit(t, 1)
	in, err := table.queue(v, time.Now())
	require.NoError(t, err)
	require.True(t, in)
	return table, v
}

// TestAVisitLeavesNoTraceWhereverItEnds: let in, held back in its own turn, or sent.
func TestAVisitLeavesNoTraceWhereverItEnds(t *testing.T) {
	table, v := letIn(t)
	table.leave(v)
	require.Empty(t, table.hosts)

	table, v = letIn(t)
	require.True(t, table.send(v))
	table.leave(v)
	require.Empty(t, table.hosts)

	table, v = letIn(t)
	h := table.hosts[someHost]
	h.notBefore = time.Now().Add(time.Hour)
	require.False(t, table.send(v), "the host has changed its mind")
	require.Zero(t, h.turning)
	require.Equal(t, stageAway, v.stage)
	require.Nil(t, v.host)
	table.leave(v)
	require.Zero(t, h.turning)
	h.notBefore = time.Time{}
	table.update(h, time.Now())
	require.Empty(t, table.hosts)
}

// TestWhoIsDoneIsNotQueued: a done context is an error, although the host is open.
func TestWhoIsDoneIsNotQueued(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var table hostTable
	v := newVisit(t, 1)
	v.ctx = ctx
	in, err := table.queue(v, time.Now())
	require.False(t, in)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, table.hosts)

	open, v := letIn(t)
	v.ctx = ctx
	require.ErrorIs(t, open.stopWaiting(v), context.Canceled, "nor let in")
}

// TestAHoldTurnsAwayWhoCannotWaitForIt: be it the only one.
func TestAHoldTurnsAwayWhoCannotWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table hostTable
		now := time.Now()
		v := newVisit(t, 1)
		h := table.hostOf(v, now)
		h.notBefore = now.Add(time.Minute)
		in, err := table.queue(v, now)
		require.NoError(t, err)
		require.False(t, in)

		h.notBefore = now.Add(2 * time.Hour)
		table.update(h, now)
		require.Equal(t, stageAway, v.stage)
		require.ErrorIs(t, v.err, ErrHeldBack)
		require.Empty(t, h.queue)
		h.notBefore = time.Time{}
		table.update(h, now)
		require.Empty(t, table.hosts)
	})
}

func (t *hostTable) hostOf(v *visit, now time.Time) *host {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.host(v.key, now)
}

// TestAQuotaThatLapsesHasOneOfThoseWhoWaitedGoFirst: and nobody if none did.
func TestAQuotaThatLapsesHasOneOfThoseWhoWaitedGoFirst(t *testing.T) {
	now := time.Now()
	over := quota{left: 0, until: now.Add(-time.Second)}
	for waiting, trial := range []bool{false, true, true} {
		var table hostTable
		v := newVisit(t, 9)
		h := table.hostOf(v, now)
		h.inFlight, h.notBefore = 1, now.Add(time.Minute)
		for i := range waiting {
			_, err := table.queue(newVisit(t, uint64(i)), now)
			require.NoError(t, err)
		}
		h.quotas = []quota{over}
		table.update(h, now)
		require.Equal(t, trial, h.trial, "%d wait", waiting)

		h.trial, h.quotas = false, []quota{over}
		_, err := table.queue(v, now)
		require.NoError(t, err)
		require.Equal(t, trial, h.trial, "%d wait, and another comes", waiting)
		h.timer.Stop()
	}
}

// TestARetryHasThePatienceThatIsLeft: counted from now.
func TestARetryHasThePatienceThatIsLeft(t *testing.T) {
	table, v := letIn(t)
	h := table.hosts[someHost]
	h.notBefore, v.giveUp = time.Now().Add(time.Minute), time.Now()
	require.True(t, table.mayRepeat(v))
	v.patience = time.Second
	require.False(t, table.mayRepeat(v))
}

// TestASweepKeepsWhatHostsHaveAsked: however many hosts there are.
func TestASweepKeepsWhatHostsHaveAsked(t *testing.T) {
	var table hostTable
	now := time.Now()
	for i := range 3 * minSweep {
		h := table.hostOf(&visit{key: strconv.Itoa(i)}, now)
		h.notBefore = now.Add(time.Hour)
	}
	require.Len(t, table.hosts, 3*minSweep)
	for i := range 3 * minSweep {
		require.Positive(t, table.held(strconv.Itoa(i)))
	}
}

// TestAHoldIsWhatIsLeftOfItsQuotas: those that are over say nothing, of others the last one to end.
func TestAHoldIsWhatIsLeftOfItsQuotas(t *testing.T) {
	now := time.Now()
	soon, later := now.Add(time.Second), now.Add(time.Minute)
	h := hold{quotas: []quota{{left: 0, until: now}}}
	require.True(t, h.open(nil, 0, now))
	require.False(t, h.open(nil, 0, now.Add(-1)))
	for _, quotas := range [][]quota{{{0, soon, 1}, {0, later, 2}}, {{0, later, 1}, {0, soon, 2}}} {
		h := hold{quotas: quotas}
		require.Equal(t, later, h.closedUntil())
	}

	h = hold{}
	for range 3 {
		h.learn(0, ask{serviceLimit: serviceLimit{left: 5, within: time.Minute}}, now)
		require.Len(t, h.quotas, 1, "the same, heard again, replaces it")
	}
}

// TestWhatWasSentBeforeATrialDoesNotEndIt: however well it is answered.
func TestWhatWasSentBeforeATrialDoesNotEndIt(t *testing.T) {
	now := time.Now()
	before, after := new(visit), new(visit)
	var h hold
	h.send(before, now)
	h.close()
	h.send(after, now)
	h.learn(before.sent, ask{}, now)
	require.True(t, h.trial)
	h.learn(after.sent, ask{}, now)
	require.False(t, h.trial)
}

// TestARemoteLayersTimeEnds: it begins once, and what tells it is freed.
func TestARemoteLayersTimeEnds(t *testing.T) {
	p := &patience{Context: t.Context()}
	require.NoError(t, p.Err())
	require.Equal(t, p.Done(), p.Done())
	p.over()
	require.ErrorIs(t, p.Err(), context.Canceled)
	(&patience{Context: t.Context()}).over() // nobody has looked
}
