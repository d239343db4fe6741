package weir

import "context"

// A Verdict is what Layers decided about a request, and under which policies.
type Verdict struct {
	Decision
	few     [fewLayers]Policy // of the layers that apply, or
	more    []Policy          // these, if they are more
	applied int
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
