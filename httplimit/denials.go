package httplimit

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/goweir/weir"
)

// A denialLog writes a record for each denial, and only their number where they
// come too fast.
type denialLog struct {
	limiter  *weir.Limiter
	failures *weir.Limiter // of those to settle
	leftOut  atomic.Uint64
	summing  atomic.Bool // a timer will tell of those left out, if no record does
}

// What a flood writes is bounded: a record a second, of 2 KB where all of it has to
// be escaped.
const (
	longestPath   = 256
	longestMethod = 16
	longestClient = 64
	sumUpAfter    = 10 * time.Second
)

func newDenialLog() *denialLog {
	pace := weir.TokenBucket(weir.PerSecond(1).WithBurst(10))
	return &denialLog{limiter: weir.New(pace), failures: weir.New(pace)}
}

// log notes a denial, or what would be one without a shadow.
func (l *denialLog) log(m *Middleware, r *http.Request, d *weir.Decision) {
	if !m.Logger.Enabled(r.Context(), slog.LevelWarn) {
		return
	}
	if !l.limiter.Allow() {
		l.leftOut.Add(1)
		if !l.summing.Swap(true) {
			time.AfterFunc(sumUpAfter, func() { l.sumUp(m.Logger) })
		}
		return
	}
	attrs := []slog.Attr{
		slog.String("client", shorten(m.clientOf(r), longestClient)),
		slog.String("method", shorten(r.Method, longestMethod)),
		slog.String("path", shorten(r.URL.Path, longestPath)),
		slog.Any("", *d),
	}
	if n := l.leftOut.Swap(0); n > 0 {
		attrs = append(attrs, slog.Uint64("left_out", n))
	}
	m.Logger.LogAttrs(r.Context(), slog.LevelWarn, "request denied", attrs...)
}

// sumUp tells how many were left out since the last record.
func (l *denialLog) sumUp(logger *slog.Logger) {
	defer func() { _ = recover() }() // a handler that panics must not end the program: no server is around it
	l.summing.Store(false)
	if n := l.leftOut.Swap(0); n > 0 {
		logger.LogAttrs(context.Background(), slog.LevelWarn, "more requests denied", slog.Uint64("left_out", n))
	}
}

// failed notes that a remote layer could not be settled.
func (l *denialLog) failed(m *Middleware, err error) {
	if l.failures.Allow() {
		m.Logger.LogAttrs(context.Background(), slog.LevelError, "request not settled", slog.Any("error", err))
	}
}

// clientOf returns whom a record names.
func (m *Middleware) clientOf(r *http.Request) string {
	if m.Client != nil {
		return m.Client(r)
	}
	for _, key := range m.Layers.Keys(r) {
		switch key := key.(type) {
		case netip.Prefix:
			return prefixString(key)
		case netip.Addr:
			return key.String()
		case netip.AddrPort:
			return key.Addr().String()
		}
	}
	key, _ := RemoteIP(r)
	return prefixString(key)
}

// prefixString writes a single address as that.
func prefixString(p netip.Prefix) string {
	switch {
	case !p.IsValid():
		return "unknown"
	case p.IsSingleIP():
		return p.Addr().String()
	}
	return p.String()
}

// shorten cuts a string, but no character of it.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "..."
}
