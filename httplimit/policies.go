package httplimit

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goweir/weir"
)

// policyFields has the RateLimit-Policy of each set of policies that has applied
// to a request lately: as many as there are ways for layers to apply or not, and
// again for each policy that was set anew.
type policyFields struct {
	known atomic.Pointer[[]appliedField]
	mu    sync.Mutex // to change known, which is then another slice
}

type appliedField struct {
	policies []weir.Policy
	field    policyField
}

// mostFields is how many are kept; with more it begins anew.
const mostFields = 64

func (f *policyFields) of(v *weir.Verdict) policyField {
	var space [8]weir.Policy
	policies := v.AppendPolicies(space[:0])
	if field, ok := f.find(policies); ok {
		return field
	}
	return f.add(slices.Clone(policies))
}

func (f *policyFields) find(policies []weir.Policy) (policyField, bool) {
	if known := f.known.Load(); known != nil {
		for _, field := range *known {
			if slices.Equal(field.policies, policies) {
				return field.field, true
			}
		}
	}
	return "", false
}

func (f *policyFields) add(policies []weir.Policy) policyField {
	f.mu.Lock()
	defer f.mu.Unlock()
	if field, ok := f.find(policies); ok {
		return field
	}
	field := newPolicyField(policies)
	var all []appliedField
	if known := f.known.Load(); known != nil && len(*known) < mostFields {
		all = *known
	}
	all = append(all, appliedField{policies, field}) // those who read it see none of this
	f.known.Store(&all)
	return field
}
