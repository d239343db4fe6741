package policyfile_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
	"github.com/goweir/weir/policyfile"
)

const (
	every = 10 * time.Second
	soon  = time.Second // long enough to settle, and shorter than every
)

// A watched is a Watch that runs in a bubble, and what came of it.
type watched struct {
	t    *testing.T
	path string
	stop func()
	done chan error
	fail error // what apply returns

	mu    sync.Mutex
	calls []string
	log   bytes.Buffer
}

func watch(t *testing.T, path string, opts ...policyfile.Option) *watched {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &watched{t: t, path: path, stop: stop, done: make(chan error, 1)}
	t.Cleanup(stop) // and the bubble waits until nothing is left of it
	opts = append(opts, policyfile.WithLogger(logger(w)))
	go func() { w.done <- policyfile.Watch(ctx, path, every, w.apply, opts...) }()
	return w
}

// logger writes lines without a time.
func logger(w *watched) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func (w *watched) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(line)
}

func (w *watched) apply(changed map[string]weir.Policy) error {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		texts = append(texts, name+"="+changed[name].String())
	}
	clear(changed) // it is apply's to keep
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, strings.Join(texts, " "))
	return w.fail
}

// applied requires the calls of apply since the last time, those of the next second included.
func (w *watched) applied(calls ...string) {
	w.t.Helper()
	time.Sleep(soon)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Equal(w.t, calls, w.calls)
	w.calls = nil
}

// logged requires the lines since the last time: a part of each, in order.
func (w *watched) logged(parts ...string) {
	w.t.Helper()
	time.Sleep(soon)
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := slices.Collect(strings.Lines(strings.ReplaceAll(w.log.String(), w.path, "FILE")))
	w.log.Reset()
	require.Len(w.t, lines, len(parts), "%q", lines)
	for i, part := range parts {
		require.Contains(w.t, strings.ReplaceAll(lines[i], `\"`, `"`), part)
		require.Contains(w.t, lines[i], " file=FILE")
	}
}

// ended requires that Watch has returned.
func (w *watched) ended() error {
	w.t.Helper()
	select {
	case err := <-w.done:
		return err
	case <-time.After(soon):
		require.Fail(w.t, "Watch goes on")
		return nil
	}
}
