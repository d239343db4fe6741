package redislimit

import "github.com/goweir/weir"

// By returns the layer of c for weir.Layers and httplimit: charged once all local
// layers have admitted the request, and given back what it took if another denies, which
// for a FirstOf may be to another of its parts.
// key says who the client of a request is; with false the layer does not apply.
// It panics if c or key is nil.
func By[R any](c *PerClient, key func(R) (string, bool)) weir.Layer[R] {
	if c == nil || key == nil {
		panic("redislimit: By needs a PerClient and a key function, and one of them is nil")
	}
	return weir.ByRemote(weir.Remote[string]{
		Take: c.Take, Peek: c.Peek, Refund: c.Refund, Policy: c.Policy, Limiter: c,
	}, key)
}
