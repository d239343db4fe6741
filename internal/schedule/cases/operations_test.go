package cases

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/schedule"
)

var (
	plan  = weir.TokenBucket(weir.PerHour(4))
	lower = weir.TokenBucket(weir.PerHour(1))
	other = weir.SlidingWindow(weir.PerHour(3))
)

// quietly makes an operation of what answers nothing.
func quietly(f func(*world, *made)) func(*world, *made) any {
	return func(w *world, own *made) any {
		f(w, own)
		return ""
	}
}

func reserve(w *world, own *made) { own.reservation = w.Reserve(1) }

// subjects are what threads do to a subject.
var subjects = [][]operation{
	{{"Allow", func(w *world, _ *made) any { return w.Allow() }}},
	{{"Take 1", func(w *world, _ *made) any { return w.Take(1) }}},
	{{"Take 2", func(w *world, _ *made) any { return w.Take(2) }}},
	{{"Peek", func(w *world, _ *made) any { return w.Peek(1) }}},
	{{"Waiting", func(w *world, _ *made) any { return w.Stats().Waiting }}},
	{{"Reserve", quietly(reserve)}},
	{{"ReserveWithin", quietly(func(w *world, own *made) { own.reservation = w.ReserveWithin(1, 0) })}},
	{{"Reserve", quietly(reserve)}, {"Cancel", quietly(func(_ *world, own *made) { own.reservation.Cancel() })}},
	{{"Cancel", quietly(func(w *world, _ *made) { w.paid.Cancel() })}},
	{{"Settle 0", quietly(func(w *world, _ *made) { w.paid.Settle(0) })}},
	{{"Charge", quietly(func(w *world, _ *made) { w.Charge(1) })}},
	{{"Refund", quietly(func(w *world, _ *made) { w.Refund(1) })}},
	{{"Reset", quietly(func(w *world, _ *made) { w.Reset() })}},
	{{"SetPolicy lower", func(w *world, _ *made) any { return w.SetPolicy(lower) }}},
	{{"SetPolicy plan", func(w *world, _ *made) any { return w.SetPolicy(plan) }}},
	{{"SetPolicy other", func(w *world, _ *made) any { return w.SetPolicy(other) }}},
}

// near are what they do to a client besides, and to its shard.
var near = slices.Concat(subjects, [][]operation{
	{{"TakeAs", func(w *world, _ *made) any { return w.clients.TakeAs(here, 1, plan) }}},
	{{"Take there", func(w *world, _ *made) any { return w.clients.Take(there, 1) }}},
	{{"Sweep", func(w *world, _ *made) any { return w.clients.Sweep() }}},
})

// all are what they do to any client.
var all = slices.Concat(near, [][]operation{
	{{"Allow far", func(w *world, _ *made) any { return w.clients.Allow(far) }}},
})

// crowd are what they do to clients for some of which there is no room.
var crowd = [][]operation{
	{{"Allow", func(w *world, _ *made) any { return w.Allow() }}},
	{{"Take there", func(w *world, _ *made) any { return w.clients.Take(there, 1) }}},
	{{"Allow there", func(w *world, _ *made) any { return w.clients.Allow(there) }}},
	{{"Take third", func(w *world, _ *made) any { return w.clients.Take(third, 1) }}},
	{{"Take far", func(w *world, _ *made) any { return w.clients.Take(far, 1) }}},
	{{"Peek there", func(w *world, _ *made) any { return w.clients.Peek(there, 1) }}},
	{{"TakeAs there", func(w *world, _ *made) any { return w.clients.TakeAs(there, 1, plan) }}},
	{{"Reserve there", quietly(func(w *world, own *made) { own.reservation = w.clients.Reserve(there, 1) })}},
	{{"Charge there", quietly(func(w *world, _ *made) { w.clients.Charge(there, 1) })}},
	{{"Cancel", quietly(func(w *world, _ *made) { w.paid.Cancel() })}},
	{{"Settle 0", quietly(func(w *world, _ *made) { w.paid.Settle(0) })}},
	{{"Reset", quietly(func(w *world, _ *made) { w.Reset() })}},
	{{"Sweep", func(w *world, _ *made) any { return w.clients.Sweep() }}},
	{{"SetPolicy lower", func(w *world, _ *made) any { return w.SetPolicy(lower) }}},
	{{"SetPolicy other", func(w *world, _ *made) any { return w.SetPolicy(other) }}},
}

// few and crowdFew are those of all and of crowd of which there are three.
var (
	few      = pick(all, "Take 2", "Reserve", "Cancel", "Refund", "SetPolicy lower", "TakeAs", "Take there", "Sweep")
	crowdFew = pick(crowd, "Allow", "Take there", "Take far", "Reserve there", "Sweep")
)

// pick returns of threads those of one operation of these names.
func pick(from [][]operation, names ...string) (threads [][]operation) {
	for _, thread := range from {
		if len(thread) == 1 && slices.Contains(names, thread[0].name) {
			threads = append(threads, thread)
		}
	}
	return threads
}

// layered are what they do to layers, and to the limiters that these are of. Of
// what layers answer only whether they allow it is compared: what is left they find
// out one layer after the other.
var layered = [][]operation{
	{{"Allow", func(w *world, _ *made) any { return w.layers[0].Allow(here) }}},
	{{"Take", func(w *world, _ *made) any { return w.layers[0].Take(here, 1).Allowed }}},
	{{"Take there", func(w *world, _ *made) any { return w.layers[0].Take(there, 1).Allowed }}},
	{{"Allow in reverse", func(w *world, _ *made) any { return w.layers[1].Allow(here) }}},
	{{"Take in reverse", func(w *world, _ *made) any { return w.layers[1].Take(here, 1).Allowed }}},
	{{"Hold", hold}, {"Settle 0", func(_ *world, own *made) any { return own.hold.Settle(context.Background(), 0) }}},
	{{"client's Take", func(w *world, _ *made) any { return w.Take(1).Allowed }}},
	{{"client's Reserve", quietly(reserve)}},
	{{"client's Reset", quietly(func(w *world, _ *made) { w.Reset() })}},
	{{"client's SetPolicy", func(w *world, _ *made) any { return w.SetPolicy(lower) }}},
	{{"limiter's Take", func(w *world, _ *made) any { return w.limiter.Take(1).Allowed }}},
	{{"limiter's Charge", quietly(func(w *world, _ *made) { w.limiter.Charge(1) })}},
	{{"limiter's SetPolicy", func(w *world, _ *made) any { return w.limiter.SetPolicy(other) }}},
	{{"Sweep", func(w *world, _ *made) any { return w.clients.Sweep() }}},
}

func hold(w *world, own *made) any {
	h, err := w.layers[0].Hold(context.Background(), here, 1)
	own.hold = h
	return fmt.Sprint(h.Allowed, err)
}

// A start is what was done before.
type start struct {
	name string
	do   func(*world)
}

func (s start) of(w *world) *world {
	s.do(w)
	return w
}

var starts = []start{
	{"unknown", func(*world) {}},
	{"used", func(w *world) { w.paid = w.Reserve(1) }},
	{"spent", func(w *world) {
		w.Take(2)
		w.Take(1)
	}},
	{"open again", func(w *world) {
		w.Take(2)
		w.Take(1)
		schedule.Sleep(30 * time.Minute)
	}},
	{"full", func(w *world) {
		w.Take(1)
		schedule.Sleep(time.Hour)
	}},
	{"waited for", func(w *world) {
		w.Take(2)
		w.paid = w.Reserve(1)
	}},
}

var clientStarts = slices.Concat(starts, []start{
	{"its own policy", func(w *world) { w.clients.TakeAs(here, 1, plan) }},
	{"about to grow", func(w *world) {
		for _, key := range []uint64{here, third, 1 << 40} {
			w.clients.Take(key, 1)
		}
	}},
})

var crowdStarts = slices.Concat(starts, []start{
	{"shared", func(w *world) {
		for _, key := range []uint64{here, there, third} {
			w.clients.Take(key, 1)
		}
	}},
	{"shared and full", func(w *world) {
		w.Take(1)
		w.clients.Take(there, 1)
		w.clients.Take(there, 1)
		schedule.Sleep(40 * time.Minute)
	}},
	{"far", func(w *world) {
		w.clients.Take(far, 1)
		w.clients.Take(far+1, 2)
	}},
})

var layersStarts = []start{
	{"unused", func(*world) {}},
	{"used", func(w *world) {
		w.Take(1)
		w.limiter.Take(1)
	}},
	{"spent", func(w *world) {
		w.Take(1)
		w.limiter.Take(2)
	}},
}
