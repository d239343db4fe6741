package proof

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"pgregory.net/rapid"
)

// inBubble runs a property in a bubble of its own, where the system's clock goes
// when the program has it go.
func inBubble(t *testing.T, property func(*rapid.T)) func(*rapid.T) {
	return func(rt *rapid.T) {
		var reason any
		synctest.Test(t, func(*testing.T) {
			defer func() { reason = recover() }() // rapid's own, which it waits for outside
			property(rt)
		})
		if fmt.Sprintf("%T", reason) == "rapid.stopTest" {
			panic(reason) // a failure, which rapid knows by this line
		}
		if reason != nil {
			panic(reason)
		}
	}
}

func newSystemWorld(t *rapid.T) *world {
	w := &world{T: t, clock: weir.SystemClock()}
	w.now = func() int64 { return int64(w.clock.Now()) }
	w.move = func(to int64) { time.Sleep(time.Duration(to - w.now())) }
	return w
}

// onSystemClock is each of the other properties on the system's clock, which never
// steps back: a bucket alone is then another state, without a lock.
func onSystemClock(t *rapid.T) {
	w := newSystemWorld(t)
	switch draw(t, rapid.IntRange(0, 3)) {
	case 0:
		w.limiter()
	case 1:
		w.clients()
	case 2:
		w.overflow()
	default:
		w.layered()
	}
}

func TestOnTheSystemClock(t *testing.T) { rapid.Check(t, inBubble(t, onSystemClock)) }

func FuzzSystemClock(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) { rapid.MakeFuzz(inBubble(t, onSystemClock))(t, input) })
}
