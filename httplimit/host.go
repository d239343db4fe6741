package httplimit

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// A host is one of which something is known. It is guarded by the table's mutex.
type host struct {
	hold
	key      string
	turning  int       // visits that were let in and wait for their own turn
	inFlight int       // those that are sent and not answered
	queue    []*visit  // those that wait to be let in, by number
	judged   time.Time // until when those were last seen to be able to wait
	timer    *time.Timer
	wakeAt   time.Time // when the timer goes off, while somebody waits
}

// A visit is one request on its way to a host, as often as it is sent.
type visit struct {
	ctx      context.Context
	key      string
	number   uint64        // of those who wait, the least is let in first
	patience time.Duration // how long it may still be held back

	// Guarded by the table's mutex.
	stage  stage
	host   *host // unless it is away
	sent   uint64
	giveUp time.Time     // when its patience ends
	moved  chan struct{} // closed when it is no longer queued
	err    error         // why it was turned away
}

type stage uint8

const (
	stageAway stage = iota
	stageQueued
	stageTurning
	stageInFlight
)

// idle reports whether a host says nothing to the next request.
func (h *host) idle(now time.Time) bool {
	return h.turning+h.inFlight+len(h.queue) == 0 && !now.Before(h.notBefore) &&
		!slices.ContainsFunc(h.quotas, func(q quota) bool { return now.Before(q.until) })
}

// place returns where a visit is in the queue, or belongs.
func (h *host) place(v *visit) int {
	i, _ := slices.BinarySearchFunc(h.queue, v.number, func(v *visit, number uint64) int { return cmp.Compare(v.number, number) })
	return i
}

// letNextIn lets in who waits and may go.
func (h *host) letNextIn(now time.Time) {
	for len(h.queue) > 0 && h.open(h.queue[0], h.turning+h.inFlight, now) {
		v := h.queue[0]
		h.queue[0] = nil
		h.queue = h.queue[1:]
		h.turning++
		v.stage = stageTurning
		h.try(v, now)
		close(v.moved)
	}
}

// turnAway turns away who would wait for too long, once for each instant that the
// hold comes to end at.
func (h *host) turnAway(now time.Time) {
	end := h.closedUntil()
	if len(h.queue) == 0 || end.Equal(h.judged) {
		return
	}
	h.judged = end
	h.queue = slices.DeleteFunc(h.queue, func(v *visit) bool {
		if v.err = h.tooLong(v, now); v.err == nil {
			return false
		}
		v.stage, v.host = stageAway, nil
		close(v.moved)
		return true
	})
}

// tooLong returns an error if a visit's deadline or patience ends before it can be
// sent. A hold that ends at the deadline leaves no time for an answer.
func (h *host) tooLong(v *visit, now time.Time) error {
	end := h.closedUntil()
	if !end.After(now) {
		return nil
	}
	if deadline, ok := v.ctx.Deadline(); ok && !end.Before(deadline) {
		return h.waitError(context.DeadlineExceeded, now)
	}
	if end.After(v.giveUp) {
		return h.waitError(ErrHeldBack, now)
	}
	return nil
}

func (h *host) waitError(err error, now time.Time) error {
	return &WaitError{Host: h.key, Wait: max(h.closedUntil().Sub(now), 0), Err: err}
}
