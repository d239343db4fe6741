package weir_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
)

// visit is a request: whose it is, and how big. Nobody has a negative number.
type visit struct{ addr, user, size int }

func byAddr(v visit) (int, bool) { return v.addr, v.addr >= 0 }
func byUser(v visit) (int, bool) { return v.user, v.user >= 0 }
func bySize(v visit) int         { return v.size }

// layerOf makes the layer of a limiter that was added to a world, keyed by something if it has keys.
type layerOf func(key func(visit) (int, bool)) (weir.Layer[visit], model.Layer[visit])

// addLayerOf adds a limiter, or one with so many keys.
func (w *world) addLayerOf(p weir.Policy, shadow bool, keys int) layerOf {
	if keys == 0 {
		real, m := w.addLimiter(p, model.Options{Shadow: shadow})
		return func(func(visit) (int, bool)) (weir.Layer[visit], model.Layer[visit]) {
			return weir.Global[visit](real), model.Global[visit](m)
		}
	}
	real, m := w.addClients(p, model.Options{Shadow: shadow, MaxClients: 100}, keys)
	return func(key func(visit) (int, bool)) (weir.Layer[visit], model.Layer[visit]) {
		return weir.By(real, key), model.By(m, key)
	}
}

// chooseLayers draws layers of three limiters, and returns what makes them in a world.
func chooseLayers(c choose) (build func(*world)) {
	type limiter struct {
		policy weir.Policy
		shadow bool
		keys   int
	}
	var limiters []limiter
	for range 3 {
		p := newPolicy(c)
		if c.oneIn(3) {
			p = weir.TokenBucket(chooseLimit(c, true)) // often one word
		}
		limiters = append(limiters, limiter{p, c.oneIn(5), pick(c, 0, 3, 3)})
	}
	type layer struct {
		of    int64
		key   func(visit) (int, bool)
		costs bool
	}
	var layers []layer
	for range 1 + c(5) {
		layers = append(layers, layer{c(3), pick(c, byAddr, byUser), c.oneIn(4)})
	}
	return func(w *world) {
		var of []layerOf
		for _, l := range limiters {
			of = append(of, w.addLayerOf(l.policy, l.shadow, l.keys))
		}
		var reals []weir.Layer[visit]
		var models []model.Layer[visit]
		for _, l := range layers {
			real, m := of[l.of](l.key)
			if l.costs {
				real, m = real.WithCost(bySize), m.WithCost(bySize)
			}
			reals, models = append(reals, real), append(models, m)
		}
		w.real.layers, w.model.layers = weir.NewLayers(reals...), modelLayers{model.NewLayers(models...)}
	}
}

// What a program on layers consists of, and beside them on their limiters.
var layersVerbs = slices.Concat(allVerbs, []string{
	"Layers.Take", "Layers.Take", "Layers.Take", "Layers.Take", "Layers.TakeContext", "Layers.TakeContext", "Layers.TakeContext",
	"Layers.Allow", "Layers.Allow", "Layers.Allow", "Layers.Peek", "Layers.Peek", "Advance", "Advance",
})

func TestLayersAnswerAsTheirLimitersDoOneByOne(t *testing.T) {
	for seed := range programs(80) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := randomly(seed)
			w := newWorld(t, c, chooseLayers(c))
			w.move(int64(seed%3) * 1_700_000_000_000_000_000)
			w.back = seed%2 == 0
			w.run(50, layersVerbs...)
		})
	}
}

func TestLayersAnswerAsTheirLimitersDoOneByOne_SystemClock(t *testing.T) {
	for seed := range programs(80) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := randomly(1000 + seed)
			inBubble(t, c, chooseLayers(c), func(w *world) { w.run(50, layersVerbs...) })
		})
	}
}
