package redislimit

import (
	"sync/atomic"

	"github.com/goweir/weir"
)

// stats counts what this process has decided.
type stats struct {
	allowed, denied, shadowed, local, fallback atomic.Uint64
}

// Stats returns what this process has decided. Local is how much of it without
// asking the store, by leases and the deny cache, and Fallback what was decided
// because that did not answer; both are in Allowed and Denied. Waiting and Clients are
// 0: nobody counts them.
func (c *PerClient) Stats() weir.Stats {
	return weir.Stats{
		Allowed:  c.counted.allowed.Load(),
		Denied:   c.counted.denied.Load(),
		Shadowed: c.counted.shadowed.Load(),
		Local:    c.counted.local.Load(),
		Fallback: c.counted.fallback.Load(),
	}
}
