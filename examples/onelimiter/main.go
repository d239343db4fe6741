// Onelimiter is the smallest use of weir: one limit for the whole program, here on the mails that an
// alarm sends. A burst of five is fine, after that one every ten minutes.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/goweir/weir"
)

func main() { run(os.Stdout) }

// run takes options so that the test can pass a clock of its own; a program leaves them out.
func run(w io.Writer, opts ...weir.Option) {
	mails := weir.New(weir.TokenBucket(weir.Every(10*time.Minute).WithBurst(5)), opts...)

	for i := 1; i <= 8; i++ {
		if mails.Allow() {
			fmt.Fprintf(w, "alarm %d: mail sent\n", i)
		} else {
			fmt.Fprintf(w, "alarm %d: only logged\n", i)
		}
	}

	// Take says more than yes or no.
	if d := mails.Take(1); !d.Allowed {
		fmt.Fprintf(w, "%s: the next one in %v\n", d.Policy, d.RetryAfter.Round(time.Minute))
	}

	// Several at once: all of them, or none.
	fmt.Fprintf(w, "a digest of 6: never=%v\n", mails.Take(6).RetryAfter == weir.Never)

	s := mails.Stats()
	fmt.Fprintf(w, "%d allowed, %d denied, %.0f%% rejected\n", s.Allowed, s.Denied, s.RejectionRate())
}
