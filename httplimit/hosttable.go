package httplimit

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// A hostTable is all hosts of which something is known: that requests are under
// way, or that those to come are limited. The zero value knows nothing.
//
// Whoever waits is in the queue of a host whose timer is set to an instant at
// which that may change. So nobody waits for ever for somebody else.
type hostTable struct {
	mu      sync.Mutex
	hosts   map[string]*host
	sweepAt int // as many hosts
}

// minSweep is how many hosts there are at least when it is looked which still say
// anything.
const minSweep = 64

// enter waits until a visit is let in, to wait for its own turn and be sent.
func (t *hostTable) enter(v *visit) error {
	began := time.Now()
	in, err := t.queue(v, began)
	if in || err != nil {
		return err
	}
	giveUp := time.NewTimer(v.patience)
	defer giveUp.Stop()
	select {
	case <-v.moved:
	case <-giveUp.C:
	case <-v.ctx.Done():
	}
	v.patience -= time.Since(began)
	return t.stopWaiting(v)
}

// queue puts a visit where it belongs in the queue, unless it would wait there for
// too long, and reports whether it is let in already.
func (t *hostTable) queue(v *visit, now time.Time) (in bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.host(v.key, now)
	h.lapse(len(h.queue) > 0, now) // while v does not count as one who waits
	v.giveUp = now.Add(v.patience)
	if v.ctx.Err() != nil {
		err = h.waitError(v.ctx.Err(), now)
	} else {
		err = h.tooLong(v, now)
	}
	if err == nil {
		v.host, v.stage, v.moved = h, stageQueued, make(chan struct{})
		h.queue = slices.Insert(h.queue, h.place(v), v)
	}
	t.update(h, now)
	return v.stage == stageTurning, err
}

// stopWaiting returns nil if a visit has been let in, and otherwise why it leaves.
func (t *hostTable) stopWaiting(v *visit) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.stage == stageAway {
		return v.err
	}
	now, err := time.Now(), v.ctx.Err()
	if err == nil {
		t.update(v.host, now) // the hold may end as its patience does
		if v.stage == stageTurning {
			return nil
		}
	}
	return v.host.waitError(cmp.Or(err, ErrHeldBack), now)
}

// send reports whether a visit that was let in may still be sent, now that it has
// its own turn. If so it is in flight, and otherwise away.
func (t *hostTable) send(v *visit) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, h := time.Now(), v.host
	if !h.open(v, h.inFlight, now) {
		t.part(v, now)
		return false
	}
	h.turning--
	h.inFlight++
	v.stage = stageInFlight
	h.hold.send(v, now)
	return true
}

// answered ends a visit with an answer that came now.
func (t *hostTable) answered(v *visit, a ask, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := v.host
	h.inFlight--
	h.leave(v)
	h.learn(v.sent, a, now)
	v.stage, v.host = stageAway, nil
	t.update(h, now)
}

// leave ends a visit at whatever stage it is.
func (t *hostTable) leave(v *visit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.stage != stageAway {
		t.part(v, time.Now())
	}
}

// part is leave for a visit that is not away, with the table locked.
func (t *hostTable) part(v *visit, now time.Time) {
	h := v.host
	switch v.stage {
	case stageQueued:
		i := h.place(v)
		h.queue = slices.Delete(h.queue, i, i+1)
	case stageTurning:
		h.turning--
	case stageInFlight: // it may have been counted, although there is no answer
		h.inFlight--
		h.spend()
	}
	h.leave(v)
	v.stage, v.host = stageAway, nil
	t.update(h, now)
}

// mayRepeat reports whether a visit that was refused could be sent again in time,
// as far as it is known.
func (t *hostTable) mayRepeat(v *visit) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, h := time.Now(), t.hosts[v.key]
	v.giveUp = now.Add(v.patience)
	return v.ctx.Err() == nil && (h == nil || h.tooLong(v, now) == nil)
}

// held returns how long a host holds requests back yet.
func (t *hostTable) held(key string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[key]
	if h == nil {
		return 0
	}
	return max(time.Until(h.closedUntil()), 0)
}

// update does what has become due, with the table locked: it turns away who would
// wait for too long, lets in who may go, has the timer do that when it changes,
// and forgets a host that says nothing any more.
func (t *hostTable) update(h *host, now time.Time) {
	h.lapse(len(h.queue) > 0, now)
	h.turnAway(now)
	h.letNextIn(now)
	t.setTimer(h, now)
	if h.idle(now) {
		delete(t.hosts, h.key)
	}
}

func (t *hostTable) setTimer(h *host, now time.Time) {
	var at time.Time
	if len(h.queue) > 0 {
		at = h.opens(now)
	}
	if at.Equal(h.wakeAt) {
		return
	}
	if h.timer != nil {
		h.timer.Stop()
	}
	if h.timer, h.wakeAt = nil, at; at.IsZero() {
		return
	}
	h.timer = time.AfterFunc(at.Sub(now), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if h.wakeAt.Equal(at) { // else it was stopped too late
			h.timer, h.wakeAt = nil, time.Time{}
			t.update(h, time.Now())
		}
	})
}

// host returns a host, which is new if it says nothing.
func (t *hostTable) host(key string, now time.Time) *host {
	if h := t.hosts[key]; h != nil && !h.idle(now) {
		return h
	}
	if t.hosts == nil || len(t.hosts) >= max(t.sweepAt, minSweep) {
		t.sweep(now)
	}
	h := &host{key: key}
	t.hosts[key] = h
	return h
}

// sweep forgets the hosts that say nothing: their holds have ended with nobody
// waiting. It runs when there are twice as many as it left last time, so that a
// host costs O(1). A map keeps the memory of what is deleted, so it makes another.
func (t *hostTable) sweep(now time.Time) {
	hosts := make(map[string]*host)
	for key, h := range t.hosts {
		if !h.idle(now) {
			hosts[key] = h
		}
	}
	t.hosts, t.sweepAt = hosts, 2*len(hosts)
}
