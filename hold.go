package weir

import (
	"context"
	"errors"
	"sync/atomic"
)

// A Hold is a Verdict with a receipt for what the request was charged, so that
// its cost can be settled when it is known. The zero Hold holds nothing. It is
// safe for concurrent use, and its copies are the same receipt.
type Hold struct {
	Verdict
	receipt *receipt
}

// Hold is Decide with a receipt. What it costs in memory and time is a
// Reservation in each layer.
func (l *Layers[R]) Hold(ctx context.Context, r R, n int) (h Hold, err error) {
	h.receipt = &receipt{}
	if err = l.decide(ctx, r, n, &h.Verdict, h.receipt); err != nil {
		return Hold{}, err
	}
	return h, nil
}

// A receipt is what the copies of a Hold have in common. A denial's is empty.
type receipt struct {
	near    []payment
	few     [fewLayers]payment // near's
	far     []call
	settled atomic.Bool
}

// A payment is a receipt in one layer.
type payment struct {
	price  price
	keeper keeper
	hash   uint64
	paid   Reservation // of no keeper if nothing was taken
}

func (p *payment) settle(actual int) {
	cost := p.price.costOf(actual)
	if p.paid.keeper != nil {
		p.paid.Settle(cost)
	} else {
		chargeKey(p.keeper, p.hash, int64(cost))
	}
}

// Settle says what the request cost in the end: in each layer what it would have
// been charged if the n of the call had been actual, so with 0 nothing. What is
// too much is given back as Reservation.Settle does, and what is too little is
// charged. A layer that did not charge the request, in shadow or as its store did not
// answer, is left alone. Only the first call counts. Of a remote layer more is taken
// only if it is there. Settle of a denial does nothing.
//
// An error is one of a remote layer; ctx is for those. Each layer is settled all
// the same.
func (h Hold) Settle(ctx context.Context, actual int) (err error) {
	t := h.receipt
	if t == nil || t.settled.Swap(true) {
		return nil
	}
	actual = max(0, actual)
	for i := range t.near {
		t.near[i].settle(actual)
	}
	for i := range t.far {
		c := &t.far[i]
		switch more := c.costOf(actual) - c.n; {
		case c.free:
		case more < 0:
			err = errors.Join(err, c.giveBack(ctx, -more))
		case more > 0:
			_, failed := c.remote.take(ctx, c.key, more)
			err = errors.Join(err, failed)
		}
	}
	return err
}
