package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/cmd/weir/internal/accesslog"
)

// A Candidate is what is tried: one or several policies, each with what it is
// keyed by, decided together.
type Candidate struct {
	Text   string
	Layers []Layer
}

// A Layer is a policy for each value of a field, or, with Global, for all requests.
type Layer struct {
	Policy weir.Policy
	Field  accesslog.Field
	Global bool
}

// ParseCandidate reads a policy, or several with semicolons between them, each after
// what it is keyed by, "global" for nothing:
//
//	token-bucket 10/s burst 20
//	address: 10/s; user: sliding-window 1000/h; global: 500/s
//
// A policy that does not say is keyed by key.
func ParseCandidate(text string, key accesslog.Field) (Candidate, error) {
	c := Candidate{Text: strings.TrimSpace(text)}
	for part := range strings.SplitSeq(hide(text), ";") {
		part, text = text[:len(part)], text[min(len(part)+1, len(text)):]
		layer := Layer{Field: key}
		if colon := strings.LastIndexByte(hide(part), ':'); colon >= 0 {
			by := strings.TrimSpace(part[:colon])
			part = part[colon+1:]
			if layer.Global = by == "global"; !layer.Global {
				var err error
				if layer.Field, err = accesslog.ParseField(by); err != nil {
					return Candidate{}, fmt.Errorf("policy %q: %w, or global", c.Text, err)
				}
			}
		}
		var err error
		if layer.Policy, err = weir.ParsePolicy(part); err == nil {
			err = layer.Policy.Validate()
		}
		if err != nil {
			return Candidate{}, err
		}
		c.Layers = append(c.Layers, layer)
	}
	if len(c.Layers) == 1 && !c.Layers[0].Global && c.Layers[0].Field == key {
		c.Text = c.Layers[0].Policy.String()
		if name := c.Layers[0].Policy.Name(); name != c.Text {
			c.Text = name
		}
	}
	return c, nil
}

// New returns the candidate of one policy.
func New(p weir.Policy, key accesslog.Field) Candidate {
	return Candidate{Text: p.String(), Layers: []Layer{{Policy: p, Field: key}}}
}

// hide blanks out names in quotes, which may have anything in them.
func hide(text string) string {
	b := []byte(text)
	quote := byte(0)
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quote == 0 && (c == '"' || c == '`'):
			quote = c
		case quote == 0:
		case c == quote:
			quote = 0
		case c == '\\' && quote == '"' && i+1 < len(b):
			b[i], b[i+1] = ' ', ' '
			i++
		default:
			b[i] = ' '
		}
	}
	return string(b)
}

// Client returns what a candidate's clients are told apart by: the field of its
// first layer that has one, or fallback.
func (c *Candidate) Client(fallback accesslog.Field) accesslog.Field {
	for _, l := range c.Layers {
		if !l.Global {
			return l.Field
		}
	}
	return fallback
}

// Fields returns every field that some candidates need, and key.
func Fields(candidates []Candidate, key accesslog.Field) []accesslog.Field {
	fields := []accesslog.Field{}
	add := func(f accesslog.Field) {
		if !slices.Contains(fields, f) {
			fields = append(fields, f)
		}
	}
	for _, c := range candidates {
		add(c.Client(key))
		for _, l := range c.Layers {
			if !l.Global {
				add(l.Field)
			}
		}
	}
	return fields
}
