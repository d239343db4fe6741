package grpclimit

import (
	"context"
	"fmt"

	"github.com/goweir/weir"
)

// FromContext returns the Decision on the RPC that a handler serves, given its
// context or one derived from that: of several Servers in a chain, that of the
// innermost. It is false outside of one, and for an RPC that [Server.Error] let pass.
func FromContext(ctx context.Context) (d weir.Decision, ok bool) {
	if found, _ := ctx.Value(decisionKey{}).(*weir.Decision); found != nil {
		return *found, true
	}
	return weir.Decision{}, false
}

type decisionKey struct{}

// An rpc is the context of an RPC, with what is known of it.
type rpc struct {
	context.Context
	call     Call
	decision weir.Decision
	decided  bool // there is one
}

func (r *rpc) Value(key any) any {
	if key == (decisionKey{}) && r.decided {
		return &r.decision
	}
	return r.Context.Value(key)
}

// String is for contexts that are printed: not the message, which may have secrets.
func (r *rpc) String() string { return fmt.Sprintf("%v.WithDecision", r.Context) }
