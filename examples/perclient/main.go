// Perclient gives every client a limit of its own: five failed logins for each address and account,
// then one more every ten minutes, whatever the others do.
package main

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/goweir/weir"
)

// Any comparable type is a key. A struct cannot mix up its parts, as joined strings can.
type visitor struct {
	addr    netip.Addr
	account string
}

func main() { run(os.Stdout) }

// run takes options so that the test can pass a clock of its own.
func run(w io.Writer, opts ...weir.Option) {
	// Where anybody can invent keys, bound how many are held: beyond that, of a few, the one that owes least is dropped.
	opts = append(opts, weir.WithMaxClients(1_000_000, weir.EvictFullest))
	logins := weir.NewPerClient[visitor](weir.TokenBucket(weir.Every(10*time.Minute).WithBurst(5)), opts...)
	defer logins.Close()

	guesser := visitor{netip.MustParseAddr("203.0.113.9"), "alice"}
	for range 100 {
		logins.Allow(guesser)
	}
	d := logins.Take(guesser, 1)
	fmt.Fprintf(w, "%v as %s: allowed=%v, retry after %v\n", guesser.addr, guesser.account, d.Allowed, d.RetryAfter.Round(time.Minute))

	alice := visitor{netip.MustParseAddr("198.51.100.7"), "alice"}
	d = logins.Take(alice, 1)
	fmt.Fprintf(w, "%v as %s: allowed=%v, remaining %d of %d\n", alice.addr, alice.account, d.Allowed, d.Remaining, d.Limit)

	// She got in: her failures are forgotten, and an idle client needs no memory.
	logins.Reset(alice)
	fmt.Fprintf(w, "after a login: remaining %d\n", logins.Tokens(alice))

	s := logins.Stats()
	fmt.Fprintf(w, "%d allowed, %d denied\n", s.Allowed, s.Denied)
}
