package proof

import (
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"pgregory.net/rapid"
)

// overflow is a program on a PerClient that has no place for all.
func (w *world) overflow() {
	w.crowded = true
	w.addClients("clients", w.newPolicy(w.T, 2), model.Options{
		Shadow:     oneIn(w.T, 8),
		MaxClients: draw(w.T, rapid.IntRange(1, 3)),
		Overflow:   oneOf(w.T, weir.EvictFullest, weir.DenyNew, weir.ShareOverflow),
	}, 5)
	w.run(nil)
}

func overflowIsTheModel(t *rapid.T) { newWorld(t).overflow() }

// A PerClient with more clients than it may hold does with them what the model
// does. All of those that it holds are looked at when one has to go, as they are so
// few; which of two of whose capacities the same part is used, down to the time until
// they are full, the model asks weir.
func TestOverflowIsTheModel(t *testing.T) { rapid.Check(t, overflowIsTheModel) }

func FuzzOverflow(f *testing.F) { f.Fuzz(rapid.MakeFuzz(overflowIsTheModel)) }
