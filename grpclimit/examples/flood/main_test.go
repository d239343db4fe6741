package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheBoundsHoldUnderAFlood(t *testing.T) {
	out := new(strings.Builder)
	require.NoError(t, run(t.Context(), out, time.Second), out)
	require.Contains(t, out.String(), "The bounds held")
}

func TestWhatShouldNotBeIsFound(t *testing.T) {
	fresh := func() report {
		l := newLimits()
		t.Cleanup(l.close)
		for range 3 {
			l.everybody.Allow()
			l.users.Allow("steady")
			l.uploads.Allow("steady")
		}
		l.users.AllowN("steady", 100)
		return report{
			users:   []*user{{name: "steady", served: 3, messages: 3}, {name: "flood", denied: 1}},
			service: &greeter{served: map[string]int{"steady": 3}, messages: 3}, limits: l, lasted: time.Second,
		}
	}
	require.NoError(t, fresh().check(io.Discard))
	for want, spoil := range map[string]func(*report){
		"steady: 61 were admitted, and 60 are the most":     func(r *report) { r.users[0].served = 61 },
		"all: 1001 were admitted, and 1000 are the most":    func(r *report) { r.users[0].served = 1001 },
		"messages: 121 were admitted, and 120 are the most": func(r *report) { r.service.messages = 121 },
		"steady: 3 were counted, and 2 by the limiters":     func(r *report) { r.service.served["steady"] = 2 },
		"messages: 2 were counted, and 3 by the limiters":   func(r *report) { r.users[0].messages = 2 },
		"all: 2 were counted, and 3 by the limiters":        func(r *report) { r.users[0].served = 2 },
		"denials: 2 were counted, and 1 by the limiters":    func(r *report) { r.users[1].denied = 2 },
		"who kept to the limit was denied 1 times":          func(r *report) { r.users[0].denied = 1 },
	} {
		r := fresh()
		spoil(&r)
		require.ErrorContains(t, r.check(io.Discard), want)
	}
}

func TestAnInterruptEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, run(ctx, io.Discard, time.Minute), "context canceled")
}
