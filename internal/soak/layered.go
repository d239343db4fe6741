package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/goweir/weir"
)

// A request has to pass three layers.
type request struct {
	tenant tenant
	user   uint64
}

type tenant uint64

func (t tenant) String() string { return "of tenant " + strconv.FormatUint(uint64(t), 10) }

const (
	tenants   = 4
	usersEach = 512
)

// A layered is a limit for everybody, in front of one for each tenant, in front of
// one for each user. A worker has users of its own in all tenants.
type layered struct {
	layers   *weir.Layers[request]
	everyone *contest
	tenants  [tenants]*contest
	users    []owned // by worker
	user     weir.Policy
}

func newLayered(st *stage) *scenario {
	everyone := weir.TokenBucket(weir.PerSecond(2000).WithBurst(200))
	each := weir.SlidingWindow(weir.Per(28, 50*time.Millisecond))
	y := &layered{
		everyone: newContest(everyone, 64),
		user:     weir.BurstReserve(weir.PerSecond(500).WithBurst(20), weir.PerSecond(100).WithBurst(10)),
	}
	for i := range y.tenants {
		y.tenants[i] = newContest(each, 64)
	}
	for id := range st.workers {
		users := newOwned(st, id, usersEach)
		for i := range users.clients {
			users.clients[i].rule = &y.user
		}
		y.users = append(y.users, users)
	}
	global := weir.New(everyone)
	byTenant := weir.NewPerClient[tenant](each, weir.WithSweepEvery(200*time.Millisecond))
	byUser := weir.NewPerClient[uint64](y.user, weir.WithSweepEvery(200*time.Millisecond))
	y.layers = weir.NewLayers(
		weir.Global[request](global),
		weir.By(byTenant, func(r request) (tenant, bool) { return r.tenant, true }),
		weir.By(byUser, func(r request) (uint64, bool) { return r.user, true }),
	)
	s := newScenario(st, "layers", global, byTenant, byUser)
	s.turn, s.weight, s.layered = y.turn, 3, true
	return s
}

func (y *layered) turn(w *worker, l *lane) {
	for range 2 * callsATurn {
		i, c := y.users[w.id].next()
		r := request{tenant: tenant(i % tenants), user: uint64(w.id)*usersEach + i}
		if !c.known {
			c.known = true
			l.keys.Add(1)
		}
		n := 1 + w.random.IntN(2)
		cost := n // in the end
		before := l.start()
		var ok bool
		switch w.random.IntN(8) {
		case 0:
			ok, cost = y.hold(r, n, w.random.IntN(n+1))
		case 1:
			ok = y.layers.Take(r, n).Allowed
		default:
			ok, cost = y.layers.Allow(r), 1
		}
		after := l.lap()
		l.count(ok)
		if ok && cost > 0 {
			y.add(l, r, c, before, after, cost)
		}
	}
}

// hold takes n, and settles for what it cost.
func (y *layered) hold(r request, n, actual int) (ok bool, cost int) {
	h, err := y.layers.Hold(context.Background(), r, n)
	if err == nil {
		err = h.Settle(context.Background(), actual)
	}
	if err != nil {
		panic(fmt.Sprintf("layers without a remote one failed: %v", err))
	}
	return h.Allowed, actual
}

func (y *layered) add(l *lane, r request, c *client, before, after time.Duration, n int) {
	full, err := c.add(*c.rule, before, after, n)
	l.judge(r.user, full, err)
	full, err = y.tenants[r.tenant].add(before, n)
	l.judge(r.tenant, full, err)
	full, err = y.everyone.add(before, n)
	l.judge("of everybody", full, err)
}
