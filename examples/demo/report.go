package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goweir/weir"
)

// A row is what became of one client, or of all clients under a shared limit.
type row struct {
	client                   string
	offered, allowed, denied uint64
	bound                    int // the most that the limit admits in a span as long as the run
	behaves                  bool
}

func (r row) held() bool { return r.allowed <= uint64(r.bound) }

// lost: a client that kept to its limit was denied.
func (r row) lost() bool { return r.behaves && r.denied > 0 }

type report struct {
	span   time.Duration
	rows   []row
	faults []string
}

func newReport(all []*scenario, tallies [][]tally, span time.Duration) *report {
	r := &report{span: span}
	// MaxWithin is of spans [t, t+d): one nanosecond more, so that the last instant is inside.
	within := func(p weir.Policy) int { return p.MaxWithin(span + 1) }
	for i, s := range all {
		sum := row{client: s.name + "/*"}
		for j, c := range s.clients {
			t := &tallies[i][j]
			one := row{
				client: s.name + "/" + c.name, offered: t.offered(), allowed: t.allowed.Load(), denied: t.denied.Load(),
				bound: within(s.policy), behaves: c.behaves,
			}
			r.add(one)
			if err := t.firstErr.Load(); err != nil {
				r.fault("%s: %d requests failed, the first with: %v", one.client, t.failed.Load(), *err)
			}
			sum.offered += one.offered
			sum.allowed += one.allowed
			sum.denied += one.denied
		}
		if !s.shared.Equal(weir.Policy{}) {
			sum.bound = within(s.shared)
			r.add(sum)
		}
		r.compare(s, sum)
	}
	return r
}

func (r *report) add(o row) {
	r.rows = append(r.rows, o)
	if !o.held() {
		r.fault("%s: %d allowed, more than the limit's bound of %d", o.client, o.allowed, o.bound)
	}
	if o.lost() {
		r.fault("%s: kept to its limit and was denied %d times", o.client, o.denied)
	}
}

// compare holds what the clients counted against what the limiter did.
func (r *report) compare(s *scenario, sum row) {
	st := s.stats()
	// With a shared limit in front, a client's own limiter counts only what got that far.
	partly := !s.shared.Equal(weir.Policy{})
	if st.Allowed != sum.allowed || st.Denied > sum.denied || st.Denied < sum.denied && !partly {
		r.fault("%s: the clients counted %d allowed and %d denied, the limiter %d and %d",
			s.name, sum.allowed, sum.denied, st.Allowed, st.Denied)
	}
}

func (r *report) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func (r *report) print(w io.Writer) {
	seconds := r.span.Seconds()
	fmt.Fprintf(w, "%-16s %9s %9s %9s %10s %9s  %-5s %s\n",
		"client", "offered", "allowed", "denied", "allowed/s", "bound", "held", "well-behaved")
	for _, o := range r.rows {
		behaved := ""
		if o.behaves {
			behaved = "lost nothing"
		}
		if o.lost() {
			behaved = "WAS DENIED"
		}
		held := "yes"
		if !o.held() {
			held = "NO"
		}
		line := fmt.Sprintf("%-16s %9d %9d %9d %10.1f %9d  %-5s %s",
			o.client, o.offered, o.allowed, o.denied, float64(o.allowed)/seconds, o.bound, held, behaved)
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	fmt.Fprintf(w, "\nbound: the most that the limit admits in %v, the length of this run\n", r.span.Round(time.Microsecond))
	if len(r.faults) == 0 {
		fmt.Fprintln(w, "Every bound held, no well-behaved client was denied, and clients and limiters counted the same.")
	}
	for _, f := range r.faults {
		fmt.Fprintln(w, "FAULT:", f)
	}
}
