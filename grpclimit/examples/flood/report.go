package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/goweir/weir"
)

// A report is what was counted: by the users, by the service and by the limiters.
type report struct {
	users   []*user
	service *greeter
	limits  *limits
	lasted  time.Duration
}

// check prints what each was served, and returns what should not be.
func (r report) check(out io.Writer) (err error) {
	fault := func(format string, args ...any) { err = errors.Join(err, fmt.Errorf(format, args...)) }
	atMost := func(what string, n int, p weir.Policy) int {
		most := p.MaxWithin(r.lasted + 1)
		if n > most {
			fault("%s: %d were admitted, and %d are the most", what, n, most)
		}
		return most
	}
	same := func(what string, counted int, limiters uint64) {
		if uint64(counted) != limiters {
			fault("%s: %d were counted, and %d by the limiters", what, counted, limiters)
		}
	}

	fmt.Fprintf(out, "%-10s %8s %8s %8s\n", "user", "denied", "served", "at most")
	served, denied, messages := 0, 0, 0
	for _, u := range r.users {
		most := atMost(u.name, u.served, r.limits.users.Policy())
		fmt.Fprintf(out, "%-10s %8d %8d %8d\n", u.name, u.denied, u.served, most)
		same(u.name, u.served, uint64(r.service.served[u.name]))
		served, denied, messages = served+u.served, denied+u.denied, messages+u.messages
		if u.name == "steady" && u.denied > 0 {
			fault("who kept to the limit was denied %d times", u.denied)
		}
	}
	most := atMost("messages", r.service.messages, r.limits.uploads.Policy())
	fmt.Fprintf(out, "%-10s %8s %8d %8d\n\n", "messages", "", messages, most)
	atMost("all", served, r.limits.everybody.Policy())

	same("messages", messages, uint64(r.service.messages))
	same("messages", messages, r.limits.uploads.Stats().Allowed)
	same("all", served, r.limits.everybody.Stats().Allowed)
	same("all users", served, r.limits.users.Stats().Allowed)
	same("denials", denied, r.limits.everybody.Stats().Denied+r.limits.users.Stats().Denied)
	if err == nil {
		fmt.Fprintln(out, "The bounds held, and all counters agree.")
	}
	return err
}
