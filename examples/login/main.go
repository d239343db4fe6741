// Login limits attempts to log in: 5 in 10 seconds for each address and user name together, and 100
// in an hour for each address, whatever names it tries. Both are asked, and an attempt that either
// denies counts in neither.
package main

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/goweir/weir"
)

// An Attempt is also its own key: a struct cannot mix up its parts, as joined strings can.
type Attempt struct {
	Addr netip.Addr
	User string
}

// A Door is what attempts come to.
type Door struct {
	perUser *weir.PerClient[Attempt]
	perAddr *weir.PerClient[netip.Addr]
	limits  *weir.Layers[Attempt]
}

// NewDoor takes options so that the test can pass a clock of its own.
func NewDoor(opts ...weir.Option) *Door {
	// Whoever tries invents names, so bound how many are held: beyond that, of a few, the one that owes
	// least is dropped.
	opts = append(opts, weir.WithMaxClients(1_000_000, weir.EvictFullest))
	d := &Door{
		perUser: weir.NewPerClient[Attempt](weir.SlidingWindow(weir.Per(5, 10*time.Second)).Named("user at address"), opts...),
		perAddr: weir.NewPerClient[netip.Addr](weir.SlidingWindow(weir.PerHour(100)).Named("address"), opts...),
	}
	d.limits = weir.NewLayers(
		weir.By(d.perUser, func(a Attempt) (Attempt, bool) { return a, true }),
		weir.By(d.perAddr, func(a Attempt) (netip.Addr, bool) { return a.Addr, true }),
	)
	return d
}

// Knock says whether an attempt may go on to the password.
func (d *Door) Knock(a Attempt) weir.Decision { return d.limits.Take(a, 1) }

// Welcome is for who knew the password: the mistakes before are forgotten.
func (d *Door) Welcome(a Attempt) { d.perUser.Reset(a) }

// Close ends what the limiters have running.
func (d *Door) Close() {
	_ = d.perUser.Close()
	_ = d.perAddr.Close()
}

func main() {
	// A clock moved by hand, so that an hour passes at once. A program leaves the option out.
	run(os.Stdout, weir.NewManualClock())
}

func run(w io.Writer, clock *weir.ManualClock) {
	door := NewDoor(weir.WithClock(clock))
	defer door.Close()
	knock := func(what string, a Attempt) {
		if d := door.Knock(a); d.Allowed {
			fmt.Fprintf(w, "%s: come in, %d more (%s)\n", what, d.Remaining, d.Policy)
		} else {
			fmt.Fprintf(w, "%s: in %v (%s)\n", what, d.RetryAfter, d.Policy)
		}
	}

	home := Attempt{netip.MustParseAddr("192.0.2.1"), "ann"}
	for range 1000 {
		door.Knock(home)
	}
	knock("ann, after a thousand tries", home)
	clock.Advance(10 * time.Second)
	knock("ann, 10 s later", home) // 995 denials cost the address nothing
	door.Welcome(home)
	knock("ann, who knew it", home)

	// A guesser tries one password on many names.
	guesser := netip.MustParseAddr("203.0.113.9")
	allowed := 0
	for i := range 500 {
		if door.Knock(Attempt{guesser, fmt.Sprint("user", i)}).Allowed {
			allowed++
		}
	}
	fmt.Fprintf(w, "the guesser: %d of 500\n", allowed)
	knock("ann from there", Attempt{guesser, "ann"})
	knock("ann from home", home)
	clock.Advance(time.Hour)
	knock("ann from there an hour later", Attempt{guesser, "ann"})
}
