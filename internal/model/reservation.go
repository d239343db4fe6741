package model

import (
	"time"

	"github.com/goweir/weir"
)

// A Reservation is the model of weir.Reservation.
type Reservation struct {
	keeper keeper
	n      int // as many as were reserved
	at     number
	stage  stage
	err    error

	// Of what was taken:
	payers []int
	policy weir.Policy
	life   int // of the key
	era    int // of the keeper, when it was reserved
}

// A keeper has the key that something is reserved of.
type keeper interface {
	// now is what the clock reads.
	now() int64
	// key is nil if it is not held any more.
	key() *Key
	// charge is Charge.
	charge(n int)
	// era is how many policies that are not alike there have been.
	era() int
}

// A stage is where a reservation stands.
type stage int

const (
	stageFailed    stage = iota // it was never made
	stageTaken                  // at its instant
	stagePending                // the instant is still to come, or was not noticed yet
	stageSettled                // likewise, and what it costs is known
	stageAbandoned              // likewise, and its key was forgotten
	stageStruck                 // a policy came that will never admit it
	stageSpent                  // cancelled or settled, or in shadow
)

// Taken reports whether its instant has come, and it was not settled yet.
func (r *Reservation) Taken() bool { return r.stage == stageTaken }

// taken notes that what is reserved was taken of a key. What was taken for nobody
// has no receipt.
func (r *Reservation) taken(k *Key, payers []int) {
	if r == nil {
		return
	}
	if r.stage == stageSettled {
		r.stage = stageSpent
		return
	}
	r.stage, r.payers, r.policy, r.life = stageTaken, payers, k.Policy(), k.life.n
}

func (r *Reservation) struck(err error) { r.stage, r.err = stageStruck, err }

// notice has the key notice what the clock reads. It returns nil for one that is
// not held any more.
func (r *Reservation) notice() (k *Key, reading int64) {
	k, reading = r.keeper.key(), r.keeper.now()
	if k != nil {
		k.notice(reading)
	}
	return k, reading
}

// Delay is how long it is until its instant.
func (r *Reservation) Delay() time.Duration {
	if r.Err() != nil {
		return weir.Never
	}
	_, reading := r.notice()
	switch r.stage {
	case stagePending, stageSettled, stageAbandoned:
		return max(0, asDuration(minus(r.at, whole(reading))))
	}
	return 0
}

// Err is why it was not made, or stands no longer.
func (r *Reservation) Err() error {
	if r.stage == stageFailed {
		return r.err
	}
	r.notice()
	if r.stage == stageStruck {
		return r.err
	}
	return nil
}

// Cancel takes it back before its instant.
func (r *Reservation) Cancel() {
	if r.stage == stageFailed {
		return
	}
	if k, _ := r.notice(); r.stage == stagePending {
		k.strike(r)
		r.stage = stageSpent
	}
}

// Settle says what the work cost in the end.
func (r *Reservation) Settle(actual int) {
	if r.stage == stageFailed {
		return
	}
	actual = max(0, actual)
	k, reading := r.notice()
	switch r.stage {
	case stageSettled, stageStruck, stageSpent:
		return
	case stageTaken:
		if actual < r.n && k != nil && r.era == r.keeper.era() && r.life == k.life.n && alike(r.policy, k.Policy()) {
			k.giveBack(k.instant(reading), r, r.n-actual)
		}
		r.stage = stageSpent
	case stageAbandoned:
		r.stage = stageSpent
	case stagePending:
		if r.stage = stageSettled; actual == 0 {
			k.strike(r)
			r.stage = stageSpent
		} else if actual < r.n {
			k.lessen(r, actual)
		}
	}
	if actual > r.n {
		r.keeper.charge(actual - r.n)
	}
}

// giveBack gives back the last n of what a reservation took.
func (k *Key) giveBack(now number, by *Reservation, n int) {
	k.newest = now
	k.linger()
	leaves := k.tree.leaves()
	for _, i := range by.payers {
		leaves[i].meter.settle(now, whole(n), by)
	}
	k.changed()
}

// lessen has what is still to come take no more than n. Its instant stays, and so
// do those behind it.
func (k *Key) lessen(by *Reservation, n int) {
	for i := range k.pending {
		if k.pending[i].by == by {
			k.pending[i].n = whole(n)
		}
	}
	k.changed()
}
