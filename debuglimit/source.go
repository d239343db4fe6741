package debuglimit

import (
	"context"
	"strings"

	"github.com/goweir/weir"
)

// A Source is what a page shows of a limiter. Make one with Limiter, PerClient or Store.
type Source struct {
	limiter any
	stats   func() weir.Stats
	policy  func() weir.Policy
	top     func() []denied
	// find finds a client by what somebody typed; nil if clients cannot be looked for.
	find  func(text string) (client, error)
	alone bool // it has one client, whatever is typed
}

// A client is one that is looked at.
type client struct {
	name string // as the page may show it
	// peek says what would be decided about n of the client's.
	peek func(ctx context.Context, n int) (weir.Decision, error)
}

// Limiter is the source of a limiter that all share.
func Limiter(l *weir.Limiter) Source {
	if l == nil {
		panic("debuglimit: Limiter(nil)")
	}
	return Source{
		limiter: l, stats: l.Stats, policy: l.Policy, alone: true,
		find: func(string) (client, error) {
			return client{peek: func(_ context.Context, n int) (weir.Decision, error) { return l.Peek(n), nil }}, nil
		},
	}
}

// mostDenied bounds what each page that is open costs a second, and keyBytes how much of it may be
// keys, of which clients make some as long as they like.
const (
	mostDenied = 1000
	keyBytes   = 200
)

// shortened returns the beginning of what is long.
func shortened(key string) string {
	if len(key) <= keyBytes {
		return key
	}
	return strings.ToValidUTF8(key[:keyBytes], "") + "…"
}

// PerClient is the source of a limiter per client. With weir.WithTopDenied it shows who
// is denied most, up to 1000 clients, of keys of more than 200 bytes the beginning.
func PerClient[K comparable](c *weir.PerClient[K], keys Keys[K]) Source {
	if c == nil {
		panic("debuglimit: PerClient(nil)")
	}
	s := Source{limiter: c, stats: c.Stats, policy: c.Policy}
	if keys.Format != nil {
		s.top = func() []denied {
			counts := c.TopDenied()
			counts = counts[:min(len(counts), mostDenied)]
			top := make([]denied, len(counts))
			for i, count := range counts {
				top[i] = denied{shortened(keys.Format(count.Key)), count.Count, count.Error}
			}
			return top
		}
	}
	if keys.Parse != nil {
		s.find = func(text string) (client, error) {
			key, err := keys.Parse(text)
			found := client{peek: func(_ context.Context, n int) (weir.Decision, error) { return c.Peek(key, n), nil }}
			if err == nil && keys.Format != nil {
				found.name = keys.Format(key)
			}
			return found, err
		}
	}
	return s
}

// A Reader is a limiter whose states are elsewhere, such as *redislimit.PerClient.
type Reader interface {
	Stats() weir.Stats
	Policy() weir.Policy
	Peek(ctx context.Context, key string, n int) (weir.Decision, error)
}

// Store is the source of a limiter with a store, which is asked when a client is looked for.
func Store(r Reader) Source {
	if r == nil {
		panic("debuglimit: Store(nil)")
	}
	return Source{
		limiter: r, stats: r.Stats, policy: r.Policy,
		find: func(key string) (client, error) {
			return client{key, func(ctx context.Context, n int) (weir.Decision, error) { return r.Peek(ctx, key, n) }}, nil
		},
	}
}
