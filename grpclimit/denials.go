package grpclimit

import (
	"context"
	"log/slog"
	"net/netip"
	"unicode/utf8"

	"github.com/goweir/weir"
)

// A denialLog writes what a Server has to tell, and not more of it than is of use.
type denialLog struct {
	weir.DenialLog
	failures *weir.Limiter
}

// What a flood writes is bounded.
const (
	longestMethod = 256
	longestClient = 64
)

func newDenialLog() *denialLog {
	return &denialLog{failures: weir.New(weir.TokenBucket(weir.PerSecond(1).WithBurst(10)))}
}

// log notes a denial, or what would be one without a shadow.
func (l *denialLog) log(s *Server, c *Call, d *weir.Decision) {
	l.Log(c.Context, s.Logger, "RPC denied", *d, func() []slog.Attr {
		return []slog.Attr{
			slog.String("client", shorten(s.clientOf(c), longestClient)),
			slog.String("method", shorten(c.FullMethod, longestMethod)),
		}
	})
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
