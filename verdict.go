package weir

import "context"

// A Verdict is what Layers decided about a request, and under which policies.
type Verdict struct {
	Decision
	few      [fewLayers]Policy // of the layers that apply, or
	more     []Policy          // these, if they are more
	applied  int
	enforced *Decision // nil if the Decision is that of a layer that is not in shadow
}

// Enforced returns what was decided without the layers in shadow, as their
// client may be told it. It is the Decision itself if none of those has a say in
// that. Where all layers are in shadow, it has no Policy and lets everything pass.
func (v *Verdict) Enforced() Decision {
	if v.enforced != nil {
		return *v.enforced
	}
	return v.Decision
}

// AppendPolicies appends the policies in force of the layers that apply to the
// request, in their order, but for those of layers in shadow, which deny nobody,
// and of remote ones that do not tell. While no policy is set anew they are
// identical, by ==, for all requests that the same layers apply to.
func (v *Verdict) AppendPolicies(policies []Policy) []Policy {
	if v.more != nil {
		return append(policies, v.more...)
	}
	return append(policies, v.few[:v.applied]...)
}

func (v *Verdict) apply(p Policy) {
	switch {
	case v.more != nil:
		v.more = append(v.more, p)
	case v.applied < len(v.few):
		v.few[v.applied] = p
		v.applied++
	default:
		v.more = append(append(v.more, v.few[:]...), p)
	}
}

// Decide is TakeContext, and says under which policies it was decided.
func (l *Layers[R]) Decide(ctx context.Context, r R, n int) (v Verdict, err error) {
	if err = l.decide(ctx, r, n, &v, nil); err != nil {
		return Verdict{}, err
	}
	return v, nil
}
