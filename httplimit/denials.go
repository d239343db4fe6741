package httplimit

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/logtext"
)

// A denialLog writes what a Middleware has to tell, and not more of it than is of use.
type denialLog struct {
	weir.DenialLog
	failures *weir.Limiter // of those to settle
}

// What a flood writes is bounded: a record a second, of 2 KB where all of it has to
// be escaped.
const (
	longestPath   = 256
	longestMethod = 16
	longestClient = 64
)

func newDenialLog() *denialLog {
	return &denialLog{failures: weir.New(weir.TokenBucket(weir.PerSecond(1).WithBurst(10)))}
}

// log notes a denial, or what would be one without a shadow.
func (l *denialLog) log(m *Middleware, r *http.Request, d *weir.Decision) {
	l.Log(r.Context(), m.Logger, "request denied", *d, func() []slog.Attr {
		return []slog.Attr{
			slog.String("client", logtext.Shorten(m.clientOf(r), longestClient)),
			slog.String("method", logtext.Shorten(r.Method, longestMethod)),
			slog.String("path", logtext.Shorten(r.URL.Path, longestPath)),
		}
	})
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
			return logtext.Prefix(key)
		case netip.Addr:
			return key.String()
		case netip.AddrPort:
			return key.Addr().String()
		}
	}
	key, _ := RemoteIP(r)
	return logtext.Prefix(key)
}
