package weir

import (
	"fmt"
	"strconv"
	"time"
)

// What is longer or nested deeper was not written by hand: it is refused
// before it costs time or stack.
const (
	maxText  = 64 << 10
	maxDepth = 64
)

// ParseLimit reads a limit as String writes it, and as people do: "100/s",
// "60/min", "5/10s burst 20", "unlimited", "0". See [ParsePolicy] for the
// grammar and the bounds. An error names the text, the byte in it, counted
// from 1, and what would be right.
func ParseLimit(s string) (Limit, error) {
	p := parser{kind: "limit", text: s}
	if err := p.checkLength(); err != nil {
		return Limit{}, err
	}
	l, err := p.limit()
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return Limit{}, err
	}
	return l, nil
}

// MustParseLimit is ParseLimit for texts in the program; it panics on an error.
func MustParseLimit(s string) Limit {
	l, err := ParseLimit(s)
	if err != nil {
		panic(err.Error())
	}
	return l
}

// MarshalText returns String, and an error if l is invalid. With
// UnmarshalText it makes limits values in JSON, YAML and TOML, and of
// flag.TextVar.
func (l Limit) MarshalText() ([]byte, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return []byte(l.String()), nil
}

// UnmarshalText is ParseLimit. On an error it leaves l as it was.
func (l *Limit) UnmarshalText(text []byte) error {
	parsed, err := ParseLimit(string(text))
	if err == nil {
		*l = parsed
	}
	return err
}

// ParsePolicy reads a policy as String writes it: "token-bucket 100/s burst 20",
// "all(token-bucket 10/s, sliding-window 1000/h)". Spaces, tabs and new lines
// are free between tokens, and needed only where two words or two numbers would
// become one.
//
//	policy    = ( limit | algorithm limit
//	            | "leaky-bucket" limit [ "queue" number ]
//	            | "burst-reserve" "(" limit "," limit ")"
//	            | ( "all" | "first-of" ) "(" policy { "," policy } ")" ) [ "as" name ] .
//	algorithm = "token-bucket" | "fixed-window" | "sliding-window" | "sliding-counter" .
//	limit     = "unlimited" | "0" | number "/" period [ "burst" number ] .
//	period    = unit | number unit { number unit } .
//	unit      = "d" | "day" | "h" | "hour" | "m" | "min" | "minute" | "s" | "sec" | "second"
//	          | "ms" | "us" | "µs" | "ns" .
//	number    = digit { digit } .
//	name      = a string as in Go, in double quotes or back quotes, not empty .
//
// A limit alone is a token bucket of it. A day is 24 hours.
//
// An error names the text, the byte in it, counted from 1, and what would be
// right; that of an invalid policy is Validate's. A text longer than 64 KiB is
// refused at once, and so are parentheses more than 64 deep and a policy that
// String would write in more than 64 KiB.
func ParsePolicy(s string) (Policy, error) {
	p := parser{kind: "policy", text: s}
	if err := p.checkLength(); err != nil {
		return Policy{}, err
	}
	policy, err := p.policy()
	if err == nil {
		err = p.end()
	}
	if err == nil {
		if n := len(policy.String()); n > maxText {
			err = p.errorf(0, "written out it has %d bytes: it must be at most %d", n, maxText)
		}
	}
	if err != nil {
		return Policy{}, err
	}
	return policy, nil
}

// MustParsePolicy is ParsePolicy for texts in the program; it panics on an error.
func MustParsePolicy(s string) Policy {
	p, err := ParsePolicy(s)
	if err != nil {
		panic(err.Error())
	}
	return p
}

// MarshalText returns String, and an error if p is invalid or ParsePolicy would
// refuse it as too long or too deep. With UnmarshalText it makes policies values
// in JSON, YAML and TOML, and of flag.TextVar. The zero Policy is invalid: in
// JSON, a field that may be left out is marked omitzero.
func (p Policy) MarshalText() ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	text := p.String()
	if len(text) > maxText {
		return nil, fmt.Errorf("weir: policy %s: its text of %d bytes must be at most %d", excerpt(text, 0), len(text), maxText)
	}
	if depth := p.depth(); depth > maxDepth {
		return nil, fmt.Errorf("weir: policy %s: it is nested %d deep and must be at most %d", excerpt(text, 0), depth, maxDepth)
	}
	return []byte(text), nil
}

// UnmarshalText is ParsePolicy. On an error it leaves p as it was.
func (p *Policy) UnmarshalText(text []byte) error {
	parsed, err := ParsePolicy(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// depth returns how many parentheses are around the innermost part.
func (p *spec) depth() int {
	if !p.combined() {
		return 0
	}
	deepest := 0
	for _, part := range p.parts {
		deepest = max(deepest, part.depth())
	}
	return deepest + 1
}

// String returns the limit as "100/s", "5/10s burst 20", "unlimited" or, for
// the zero Limit, "0".
func (l Limit) String() string {
	switch {
	case l.unlimited:
		return "unlimited"
	case l == Limit{}:
		return "0"
	}
	var buffer [64]byte
	text := append(strconv.AppendInt(buffer[:0], int64(l.count), 10), '/')
	text = appendPeriod(text, l.period)
	if l.burst != l.count {
		text = strconv.AppendInt(append(text, " burst "...), int64(l.burst), 10)
	}
	return string(text)
}

// appendPeriod writes a period with as few units as it takes: "s" for one
// second, "10s", "1h30m", "100ms".
func appendPeriod(text []byte, d time.Duration) []byte {
	if d <= 0 {
		return append(text, d.String()...)
	}
	whole := d
	for _, u := range [...]struct {
		unit time.Duration
		name string
	}{
		{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"},
		{time.Millisecond, "ms"}, {time.Microsecond, "us"}, {time.Nanosecond, "ns"},
	} {
		n := d / u.unit
		if n == 0 {
			continue
		}
		if whole != u.unit || u.unit < time.Second {
			text = strconv.AppendInt(text, int64(n), 10)
		}
		text = append(text, u.name...)
		if d -= n * u.unit; d == 0 {
			break
		}
	}
	return text
}

// String returns the policy as "token-bucket 100/s burst 20" or
// "all(token-bucket 10/s, sliding-window 1000/h)", with `as "name"` behind it
// if Named gave it one.
func (p Policy) String() string {
	switch {
	case p.spec == nil:
		return "invalid"
	case p.name != p.text:
		return p.text + " as " + strconv.Quote(p.name)
	}
	return p.text
}
