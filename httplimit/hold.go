package httplimit

import (
	"slices"
	"time"
)

// trialTime is how long the first request after a hold keeps the others waiting.
// Refusals come at once: what has no answer by then is probably being served.
const trialTime = 10 * time.Second

// Refusals that do not say when to come back hold for a second, and twice as long
// each time that another follows, up to a minute.
const (
	bareHold     = time.Second
	maxDoublings = 6
	maxBareHold  = time.Minute
)

// A hold is what a host's answers ask of the requests that come after them. One
// may be sent at now, beside those under way that are not answered, iff
//
//	now >= notBefore, and underWay < left of each quota,
//	and !trial, or nobody is on trial, or now >= alone
//
// What is sent and what is heard is numbered in one sequence. An answer is newer
// than another if it was sent for after that one was heard: sent > heard. Then it
// replaces it. Of others nobody knows which the server gave first: all count.
type hold struct {
	notBefore time.Time // the latest that a refusal has asked for
	quotas    []quota   // by heard; no newer answer has come yet

	trial bool      // then one goes alone, until one that goes now is answered well
	first *visit    // who is on trial
	alone time.Time // until then nobody else is

	number  uint64 // of what was last sent or heard
	closed  uint64 // when the trial became due
	refused int    // holds in a row of a length that nobody said, up to maxDoublings
}

// A quota is how many requests a host leaves: those under way when it was heard,
// which may have been counted already or not, and those to come.
type quota struct {
	left  int64
	until time.Time
	heard uint64
}

// open reports whether a visit may be sent.
func (h *hold) open(v *visit, underWay int, now time.Time) bool {
	if now.Before(h.notBefore) {
		return false
	}
	for _, q := range h.quotas {
		if int64(underWay) >= q.left && now.Before(q.until) {
			return false
		}
	}
	return !h.trial || h.first == nil || h.first == v || !now.Before(h.alone)
}

// opens returns the first instant after now at which open may change by itself.
// There is one whenever it reports false.
func (h *hold) opens(now time.Time) time.Time {
	var next time.Time
	sooner := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	sooner(h.notBefore)
	sooner(h.alone)
	for _, q := range h.quotas {
		sooner(q.until)
	}
	return next
}

// closedUntil returns until when nothing is sent, whatever is heard, or an instant
// that has passed. Nothing can replace a quota of which none is left: that would
// take a request under way that was sent since, when underWay < left held. It holds
// on, with <=, for each that ends and does not replace the quota lowers both.
func (h *hold) closedUntil() time.Time {
	until := h.notBefore
	for _, q := range h.quotas {
		if q.left <= 0 && q.until.After(until) {
			until = q.until
		}
	}
	return until
}

// lapse forgets quotas that are over. What there is now is not known, and of those
// who have waited for it one goes first.
func (h *hold) lapse(waited bool, now time.Time) {
	n := len(h.quotas)
	h.quotas = slices.DeleteFunc(h.quotas, func(q quota) bool { return !now.Before(q.until) })
	if len(h.quotas) < n && waited && !h.trial {
		h.close()
	}
}

// close has one go alone when the hold is over.
func (h *hold) close() {
	h.number++
	h.trial, h.closed = true, h.number
	h.first, h.alone = nil, time.Time{}
}

// try is for a visit that is let in. If another is still to be sent it stays the
// first: with one every trialTime behind it, nobody would be first in its own turn.
func (h *hold) try(v *visit, now time.Time) {
	if !h.trial {
		return
	}
	if h.first == nil || h.first.stage != stageTurning {
		h.first = v
	}
	h.alone = now.Add(trialTime)
}

// send is for a visit that is sent now.
func (h *hold) send(v *visit, now time.Time) {
	h.number++
	v.sent = h.number
	if h.trial {
		h.first, h.alone = v, now.Add(trialTime)
	}
}

// leave is for a visit that is over, or does not come.
func (h *hold) leave(v *visit) {
	if h.first == v {
		h.first, h.alone = nil, time.Time{}
	}
}

// spend is for a visit that was sent, and of which no answer says what it left.
func (h *hold) spend() {
	for i := range h.quotas {
		h.quotas[i].left--
	}
}

// learn takes to heart what the answer to a visit asks.
func (h *hold) learn(sent uint64, a ask, now time.Time) {
	h.number++
	stay, afresh := a.stay, sent > h.closed
	if a.bare && afresh { // of those refused together the first counts
		stay = min(bareHold<<h.refused, maxBareHold)
		h.refused = min(h.refused+1, maxDoublings)
	}
	if stay > 0 {
		if end := now.Add(stay); end.After(h.notBefore) {
			h.notBefore = end
		}
		h.close()
	} else if afresh && !a.refused {
		h.trial, h.refused = false, 0
	}
	if a.within == 0 {
		h.spend()
		return
	}
	q := quota{a.left, now.Add(a.within), h.number}
	h.quotas = slices.DeleteFunc(h.quotas, func(old quota) bool {
		return sent > old.heard || q.left <= old.left && !q.until.Before(old.until)
	})
	h.quotas = append(h.quotas, q)
}
