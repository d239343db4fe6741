package grpclimit

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/logtext"
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
			slog.String("client", logtext.Shorten(s.clientOf(c), longestClient)),
			slog.String("method", logtext.Shorten(c.FullMethod, longestMethod)),
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
			return logtext.Prefix(address)
		}
	}
	key, _ := Peer(c)
	return logtext.Prefix(key)
}
