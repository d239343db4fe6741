package weir

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// sumUpAfter is when those left out are told of, if no record does.
const sumUpAfter = 10 * time.Second

// A DenialLog logs denials so that a flood does not fill the disk: ten at once and then one
// a second, each with how many were left out since the last one, as left_out. If none follows
// in ten seconds, that number has a record of its own. It is for packages that put limiters in front
// of something; for a single limiter there is LogDenied. The zero DenialLog is ready for
// use. It must not be copied, and is safe for concurrent use.
type DenialLog struct {
	pace    pace
	leftOut atomic.Uint64
	summing atomic.Bool // a timer will tell of those left out
}

// Log logs a denial to l, or leaves it out: a record of slog.LevelWarn with the
// message, what details returns, which is asked only then, policy and retry_after.
func (g *DenialLog) Log(ctx context.Context, l *slog.Logger, message string, d Decision, details func() []slog.Attr) {
	if !l.Enabled(ctx, slog.LevelWarn) {
		return
	}
	if !g.pace.may() {
		g.leftOut.Add(1)
		if !g.summing.Swap(true) {
			time.AfterFunc(sumUpAfter, func() { g.sumUp(l, message) })
		}
		return
	}
	logDenied(ctx, l, message, d, g.leftOut.Swap(0), details()...)
}

func (g *DenialLog) sumUp(l *slog.Logger, message string) {
	defer func() { _ = recover() }() // a handler's, around which there is no server
	g.summing.Store(false)
	if n := g.leftOut.Swap(0); n > 0 {
		l.LogAttrs(context.Background(), slog.LevelWarn, message+": more", slog.Uint64("left_out", n))
	}
}

func logDenied(ctx context.Context, l *slog.Logger, message string, d Decision, leftOut uint64, attrs ...slog.Attr) {
	attrs = append(attrs, slog.Any("", d))
	if leftOut > 0 {
		attrs = append(attrs, slog.Uint64("left_out", leftOut))
	}
	l.LogAttrs(ctx, slog.LevelWarn, message, attrs...)
}
