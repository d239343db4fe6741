package grpclimit

import (
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"unicode/utf8"

	"github.com/goweir/weir"
)

// A denialLog writes a record for each denial, and only their number where they come
// too fast.
type denialLog struct {
	denials, failures *weir.Limiter
	leftOut           atomic.Uint64
}

// What a flood writes is bounded.
const (
	longestMethod = 256
	longestClient = 64
)

func newDenialLog() *denialLog {
	pace := weir.TokenBucket(weir.PerSecond(1).WithBurst(10))
	return &denialLog{denials: weir.New(pace), failures: weir.New(pace)}
}

// log notes a denial, or what would be one without a shadow.
func (l *denialLog) log(s *Server, c *Call, d *weir.Decision) {
	if !s.Logger.Enabled(c.Context, slog.LevelWarn) {
		return
	}
	if !l.denials.Allow() {
		l.leftOut.Add(1)
		return
	}
	attrs := []slog.Attr{
		slog.String("client", shorten(s.clientOf(c), longestClient)),
		slog.String("method", shorten(c.FullMethod, longestMethod)),
		slog.Any("", *d),
	}
	if n := l.leftOut.Swap(0); n > 0 {
		attrs = append(attrs, slog.Uint64("left_out", n))
	}
	s.Logger.LogAttrs(c.Context, slog.LevelWarn, "RPC denied", attrs...)
}

// failed notes that a remote layer could not be settled.
func (l *denialLog) failed(s *Server, err error) {
	if l.failures.Allow() {
		s.Logger.LogAttrs(context.Background(), slog.LevelError, "RPC not settled", slog.Any("error", err))
	}
}

// clientOf returns whom a record names.
func (s *Server) clientOf(c *Call) string {
	if s.Client != nil {
		return s.Client(c)
	}
	for _, key := range s.Layers.Keys(c) {
		if address, ok := key.(netip.Prefix); ok {
			return prefixString(address)
		}
	}
	key, _ := Peer(c)
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
