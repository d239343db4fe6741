package proof

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"pgregory.net/rapid"
)

// addClients adds a PerClient, and some of its keys, to a world.
func (w *world) addClients(name string, p weir.Policy, o model.Options, keys int) (*weir.PerClient[int], *model.PerClient[int]) {
	opts := []weir.Option{weir.WithClock(w.clock), weir.WithSweepEvery(0), weir.WithStaleAfter(o.StaleAfter)}
	text := fmt.Sprintf(", weir.WithStaleAfter(%d)", o.StaleAfter)
	if o.Shadow {
		opts, text = append(opts, weir.WithShadow()), text+", weir.WithShadow()"
	}
	if o.MaxClients > 0 {
		opts = append(opts, weir.WithMaxClients(o.MaxClients, o.Overflow))
		text += fmt.Sprintf(", weir.WithMaxClients(%d, %d)", o.MaxClients, o.Overflow)
	}
	w.say("%s := weir.NewPerClient[int](%s, weir.WithClock(clock), weir.WithSweepEvery(0)%s)", name, source(p), text)
	real := &realClients{PerClient: weir.NewPerClient[int](p, opts...)}
	o.Now = w.clock.Now
	m := model.NewPerClient[int](p, o)
	m.Choose = real.forgotten
	for key := range keys {
		w.keys = append(w.keys, pair[verbs]{fmt.Sprintf("%s.(%d, ", name, key), realClient{real.PerClient, key}, modelClient{m, key}})
	}
	w.limiters = append(w.limiters, pair[limiter]{name, real, modelClients{m}})
	return real.PerClient, m
}

// clients is a program on a PerClient that has place for all.
func (w *world) clients() {
	staleAfter := oneOf(w.T, 0, 0, time.Second, time.Hour)
	w.addClients("clients", w.newPolicy(w.T, 2), model.Options{
		Shadow:     oneIn(w.T, 8),
		MaxClients: 100, // so that there is one shard
		Overflow:   weir.DenyNew,
		StaleAfter: staleAfter,
	}, 3)
	w.run(nil)
}

func clientsAreTheModel(t *rapid.T) { newWorld(t).clients() }

// The clients of a PerClient do what those of the model do, each for itself.
func TestClientsAreTheModel(t *testing.T) { rapid.Check(t, clientsAreTheModel) }

func FuzzClients(f *testing.F) { f.Fuzz(rapid.MakeFuzz(clientsAreTheModel)) }
