package redislimit

import (
	"context"
	"time"

	"github.com/goweir/weir"
	lru "github.com/hashicorp/golang-lru/v2"
)

// A knowledge is of policies: those of states are found by their ids, in the store if
// it was another process that brought them there.
type knowledge struct {
	plans *lru.Cache[weir.Policy, *plan]
	byID  *lru.Cache[string, *plan] // which the store was told, or has told
}

// tellAgain is how long the store is believed to have what it was told.
const tellAgain = time.Minute

// began is long enough ago for what was told then to be told again.
var began = time.Now().Add(-tellAgain - time.Second)

func sinceBegan() int64 { return int64(time.Since(began)) }

// mostKnown bounds what is remembered of policies.
const mostKnown = 1024

func newKnowledge() *knowledge {
	return &knowledge{newCache[weir.Policy, *plan](mostKnown), newCache[string, *plan](mostKnown)}
}

func newCache[K comparable, V any](size int) *lru.Cache[K, V] {
	c, err := lru.New[K, V](size)
	if err != nil {
		panic(err) // size is positive
	}
	return c
}

// plan returns the plan of a policy.
func (k *knowledge) plan(p weir.Policy) (*plan, error) {
	if pl, ok := k.plans.Get(p); ok {
		return pl, nil
	}
	pl, err := newPlan(p)
	if err == nil {
		k.plans.Add(p, pl)
	}
	return pl, err
}

// tell makes sure that the store has the text of a policy before there is a state
// under it, and while there are: it may lose one, and not the other.
func (k *knowledge) tell(ctx bounded, c *PerClient, pl *plan) error {
	told, now := pl.told.Load(), sinceBegan()
	switch {
	case told == 0:
		return k.say(ctx, c, pl)
	case now-told >= int64(tellAgain) && pl.told.CompareAndSwap(told, now):
		go func() {
			ctx, cancel := c.within(context.Background())
			defer cancel()
			_ = k.say(ctx, c, pl) // or a minute later
		}()
	}
	return nil
}

func (k *knowledge) say(ctx bounded, c *PerClient, pl *plan) error {
	if _, err := c.run(ctx, library, []string{c.keys.policy(pl.id)}, []string{"", pl.policy.String(), "", "tell"}); err != nil {
		return err
	}
	k.byID.Add(pl.id, pl)
	pl.told.Store(sinceBegan())
	return nil
}

// lost has the store told of a policy again: it seems to have started without its data.
func (pl *plan) lost() {
	if told := pl.told.Load(); sinceBegan()-told > int64(time.Second) { // else it is one that was new to it
		pl.told.CompareAndSwap(told, 1)
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
	p, err := weir.ParsePolicy(reply.Text)
	if err != nil {
		return &plan{id: id, words: []string{"?"}}, nil
	}
	pl, err := newPlan(p)
	if err != nil || pl.id != id {
		return &plan{id: id, words: []string{"?"}}, nil
	}
	k.byID.Add(id, pl)
	return pl, nil
}

func (pl *plan) unknown() bool { return pl.words[0] == "?" }
