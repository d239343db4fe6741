package proof

import (
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"pgregory.net/rapid"
)

// addLimiter adds a Limiter to a world.
func (w *world) addLimiter(name string, p weir.Policy, shadow bool) {
	opts := []weir.Option{weir.WithClock(w.clock)}
	text := ""
	if shadow {
		opts, text = append(opts, weir.WithShadow()), ", weir.WithShadow()"
	}
	w.say("%s := weir.New(%s, weir.WithClock(clock)%s)", name, source(p), text)
	real := realLimiter{weir.New(p, opts...)}
	model := modelLimiter{model.NewLimiter(p, model.Options{Now: w.clock.Now, Shadow: shadow})}
	w.keys = append(w.keys, pair[verbs]{name + ".(", real, model})
	w.limiters = append(w.limiters, pair[limiter]{name, real, model})
}

// limiter is a program on a Limiter.
func (w *world) limiter() {
	w.addLimiter("limiter", w.newPolicy(w.T, 2), oneIn(w.T, 8))
	w.run(nil)
}

func limiterIsTheModel(t *rapid.T) { newWorld(t).limiter() }

// A Limiter does what the model does, whatever it is asked in whatever order and
// wherever its clock goes.
func TestLimiterIsTheModel(t *testing.T) { rapid.Check(t, limiterIsTheModel) }

func FuzzLimiter(f *testing.F) { f.Fuzz(rapid.MakeFuzz(limiterIsTheModel)) }
