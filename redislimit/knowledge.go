package redislimit

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

// A knowledge is of policies: those of states are found by their ids, in the store if
// it was another process that brought them there.
type knowledge struct {
	began   time.Time // so long ago that what was told then is to be told again
	plans   *lru.Cache[weir.Policy, *plan]
	byID    *lru.Cache[string, *plan] // which were asked about, or found
	telling singleflight.Group
}

const (
	// mostKnown bounds what is remembered of policies.
	mostKnown = 1024
	// tellAgain is how long the store is believed to have what it was told.
	tellAgain = time.Minute
	// tellSoon is when it is told again what it seems not to have.
	tellSoon = time.Second
)

func newKnowledge() *knowledge {
	return &knowledge{
		began: time.Now().Add(-2 * tellAgain),
		plans: newCache[weir.Policy, *plan](mostKnown),
		byID:  newCache[string, *plan](mostKnown),
	}
}

func newCache[K comparable, V any](size int) *lru.Cache[K, V] {
	c, err := lru.New[K, V](size)
	if err != nil {
		panic(err) // size is positive
	}
	return c
}

// plan returns the plan of a policy.
func (k *knowledge) plan(c *PerClient, p weir.Policy) (*plan, error) {
	if pl, ok := k.plans.Get(p); ok {
		return pl, nil
	}
	pl, err := c.local.plan(p)
	if err != nil {
		return nil, err
	}
	if same, ok := k.byID.Get(pl.id); ok {
		pl.told = same.told
	}
	k.plans.Add(p, pl)
	return pl, nil
}

// tell makes sure that the store has the words of a policy before there is a state
// under it, and while there are: it may lose one, and not the other. It may be another
// server that has them, so it is not waited for long.
func (k *knowledge) tell(ctx bounded, c *PerClient, pl *plan) {
	told, now := pl.told.Load(), int64(time.Since(k.began))
	switch {
	case told == 0:
		over := k.telling.DoChan(pl.id, func() (any, error) {
			k.say(c, pl)
			return nil, nil
		})
		enough := time.NewTimer(c.timeout / 4)
		defer enough.Stop()
		select {
		case <-over:
		case <-enough.C:
		case <-ctx.Done():
		}
	case now-told >= int64(tellAgain) && pl.told.CompareAndSwap(told, now):
		go k.say(c, pl)
	}
}

// say tells the store a policy; if it does not listen, that is for soon.
func (k *knowledge) say(c *PerClient, pl *plan) {
	ctx, cancel := c.within(context.Background())
	defer cancel()
	_, err := c.run(ctx, library, []string{c.keys.policy(pl.id)}, []string{"", strings.Join(pl.words, " "), "", "tell"})
	now := time.Since(k.began)
	if err != nil {
		now -= tellAgain - tellSoon
	}
	k.byID.Add(pl.id, pl)
	pl.told.Store(int64(now))
}

// lost has the store told of a policy soon: it seems to have started without its data.
func (k *knowledge) lost(pl *plan) {
	told, now := pl.told.Load(), int64(time.Since(k.began))
	if now-told > int64(tellSoon) { // else it is one that was new to it
		pl.told.CompareAndSwap(told, now-int64(tellAgain))
	}
}

// find returns the plan of an id. If the store has lost it, that is one under which
// everything is used.
func (k *knowledge) find(ctx bounded, c *PerClient, id string) (*plan, error) {
	if pl, ok := k.byID.Get(id); ok {
		return pl, nil
	}
	reply, err := c.run(ctx, library, []string{c.keys.policy(id)}, []string{"", "", "", "ask"})
	if err != nil {
		return nil, err
	}
	pl := &plan{words: strings.Split(reply.Text, " "), told: new(atomic.Int64)}
	if pl.identify(); pl.id != id {
		return &plan{id: id, words: []string{"?"}}, nil
	}
	k.byID.Add(id, pl)
	return pl, nil
}

func (pl *plan) unknown() bool { return pl.words[0] == "?" }
