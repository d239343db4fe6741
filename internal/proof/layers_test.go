package proof

import (
	"context"
	"fmt"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A request is somebody's, from somewhere, and so big. Nobody has a negative
// number.
type request struct{ user, addr, size int }

func byUser(r request) (int, bool) { return r.user, r.user >= 0 }
func byAddr(r request) (int, bool) { return r.addr, r.addr >= 0 }
func bySize(r request) int         { return r.size }

// A layersWorld is layers, and the limiters that they are of.
type layersWorld struct {
	*world
	real  *weir.Layers[request]
	model *model.Layers[request]
}

type layer struct {
	real  weir.Layer[request]
	model model.Layer[request]
}

func (w *world) layered() {
	l, t := &layersWorld{world: w}, w.T
	var makers []func(key func(request) (int, bool), name string) (layer, string)
	for i := range draw(t, rapid.IntRange(1, 3)) {
		name, p, shadow := fmt.Sprintf("l%d", i), w.newPolicy(t, 2), oneIn(t, 6)
		if oneIn(t, 3) {
			w.addLimiter(name, p, shadow)
			of := w.limiters[len(w.limiters)-1]
			makers = append(makers, func(func(request) (int, bool), string) (layer, string) {
				return layer{
					weir.Global[request](of.real.(realLimiter).Limiter),
					model.Global[request](of.model.(modelLimiter).Limiter),
				}, fmt.Sprintf("weir.Global[request](%s)", name)
			})
			continue
		}
		real, m := w.addClients(name, p, model.Options{Shadow: shadow, MaxClients: 100, Overflow: weir.DenyNew}, 2)
		makers = append(makers, func(key func(request) (int, bool), by string) (layer, string) {
			return layer{weir.By(real, key), model.By(m, key)}, fmt.Sprintf("weir.By(%s, %s)", name, by)
		})
	}
	var reals []weir.Layer[request]
	var models []model.Layer[request]
	for i := range draw(t, rapid.IntRange(1, 5)) {
		key, by := byUser, "byUser"
		if oneIn(t, 2) {
			key, by = byAddr, "byAddr"
		}
		one, text := oneOf(t, makers...)(key, by)
		if oneIn(t, 4) {
			one, text = layer{one.real.WithCost(bySize), one.model.WithCost(bySize)}, text+".WithCost(bySize)"
		}
		w.say("layer%d := %s", i, text)
		reals, models = append(reals, one.real), append(models, one.model)
	}
	w.say("layers := weir.NewLayers(layer0...%d)", len(reals)-1)
	l.real, l.model = weir.NewLayers(reals...), model.NewLayers(models...)
	l.run()
}

func (l *layersWorld) request(t *rapid.T) (request, int) {
	r := request{draw(t, rapid.IntRange(-1, 1)), draw(t, rapid.IntRange(-1, 1)), draw(t, rapid.IntRange(-1, 4))}
	if oneIn(t, 4) {
		r.size = drawN(t, l.last)
	}
	return r, drawN(t, l.last)
}

func (l *layersWorld) take(t *rapid.T) {
	r, n := l.request(t)
	l.say("layers.Take(%#v, %d)", r, n)
	if oneIn(t, 2) {
		l.decided(l.real.Take(r, n), l.model.Take(r, n))
		return
	}
	got, err := l.real.TakeContext(context.Background(), r, n)
	require.NoError(t, err)
	l.decided(got, l.model.Take(r, n))
}

func (l *layersWorld) allow(t *rapid.T) {
	r, _ := l.request(t)
	l.say("layers.Allow(%#v)", r)
	l.same("the answer", l.real.Allow(r), l.model.Take(r, 1).Allowed)
}

func (l *layersWorld) peek(t *rapid.T) {
	r, n := l.request(t)
	l.say("layers.Peek(%#v, %d)", r, n)
	l.decided(l.real.Peek(r, n), l.model.Peek(r, n))
}

func (l *layersWorld) run() {
	l.world.run(map[string]func(*rapid.T){
		"layers.Take":  l.take,
		"layers.Allow": l.allow,
		"layers.Peek":  l.peek,
	})
}

func layersAreTheModel(t *rapid.T) { newWorld(t).layered() }

// Layers do what the model does, beside what is asked of their limiters.
func TestLayersAreTheModel(t *testing.T) { rapid.Check(t, layersAreTheModel) }

func FuzzLayers(f *testing.F) { f.Fuzz(rapid.MakeFuzz(layersAreTheModel)) }
