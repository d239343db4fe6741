package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/goweir/weir"
)

// A reserving is keys that come once, of each of which a worker reserves more
// than there is, cancels some of it and settles some for less.
type reserving struct {
	clients  []*weir.PerClient[uint64]
	policies []weir.Policy
	next     []uint64 // key, by worker
	meters   []meter  // likewise
}

// A booking is an instant that was reserved, known only by two readings of which
// it lies between.
type booking struct {
	from, until time.Duration
	n           int
}

func newReserving(st *stage) *scenario {
	v := &reserving{
		policies: []weir.Policy{
			weir.TokenBucket(weir.PerSecond(200).WithBurst(10)),
			weir.LeakyBucket(weir.PerSecond(200), 20),
			weir.SlidingWindow(weir.Per(10, 60*time.Millisecond)),
			weir.SlidingCounter(weir.Per(10, 60*time.Millisecond)),
			weir.All(weir.TokenBucket(weir.PerSecond(200).WithBurst(6)), weir.FixedWindow(weir.Per(8, 40*time.Millisecond))),
			weir.BurstReserve(weir.PerSecond(100).WithBurst(5), weir.PerSecond(40).WithBurst(5)),
		},
		next: make([]uint64, st.workers),
	}
	var limiters []counter
	for _, p := range v.policies {
		c := weir.NewPerClient[uint64](p, weir.WithSweepEvery(200*time.Millisecond))
		v.clients, limiters = append(v.clients, c), append(limiters, c)
	}
	for range st.workers {
		v.meters = append(v.meters, meter{newest: make([]admission, callsATurn)})
	}
	s := newScenario(st, "reservations", limiters...)
	s.turn = v.turn
	return s
}

func (v *reserving) turn(w *worker, l *lane) {
	i := w.random.IntN(len(v.clients))
	clients, p, m := v.clients[i], v.policies[i], &v.meters[w.id]
	v.next[w.id]++
	key := v.next[w.id]*uint64(len(v.next)) + uint64(w.id)
	l.keys.Add(1)

	var booked []booking
	for range callsATurn / 2 {
		n := 1 + w.random.IntN(3)
		if p.Algorithm() == weir.AlgorithmLeakyBucket {
			n = 1
		}
		within := weir.Never
		if w.random.IntN(4) == 0 {
			within = time.Duration(w.random.IntN(50)) * time.Millisecond
		}
		before := l.start()
		r := clients.ReserveWithin(key, n, within)
		l.count(r.OK())
		if !r.OK() {
			continue
		}
		if b, stands := use(w, r, before, n); stands {
			booked = append(booked, b)
		}
	}
	slices.SortFunc(booked, func(a, b booking) int { return cmp.Compare(a.from, b.from) })
	m.clear()
	last := time.Duration(0)
	for _, b := range booked {
		last = max(last, b.until)
		full, err := m.add(p, b.from, last, b.n)
		l.judge(key, full, err)
	}
}

// use does something with a reservation that was made after a reading, and
// returns what of it stands, if that is certain.
func use(w *worker, r weir.Reservation, before time.Duration, n int) (b booking, stands bool) {
	asked := system.Now()
	delay := r.Delay()
	told := system.Now()
	b = booking{before, told, n}
	if delay > 0 {
		b.from, b.until = asked+delay, told+delay
	}
	switch w.random.IntN(8) {
	case 0:
		b.n = w.random.IntN(n + 1)
		r.Settle(b.n)
		return b, b.n > 0
	case 1, 2, 3:
		began := system.Now()
		r.Cancel()
		return b, b.until <= began // it came too late
	}
	return b, true
}
