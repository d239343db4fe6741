package httplimit

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A sfItem is a String of RFC 9651 with parameters that are Integers: all that
// the fields are made of.
type sfItem struct {
	name       string
	parameters map[string]int64
}

// parseList reads the lines of a field by the algorithms of RFC 9651, section
// 4.2, as strictly as they are written.
func parseList(lines ...string) ([]sfItem, error) {
	p := &sfParser{s: strings.Trim(strings.Join(lines, ", "), " ")}
	var items []sfItem
	for p.s != "" {
		item, err := p.item()
		if err != nil {
			return nil, fmt.Errorf("%w before %q", err, p.s)
		}
		items = append(items, item)
		p.s = strings.TrimLeft(p.s, " \t")
		if p.s == "" {
			return items, nil
		}
		if !p.eat(',') {
			return nil, fmt.Errorf("no comma before %q", p.s)
		}
		if p.s = strings.TrimLeft(p.s, " \t"); p.s == "" {
			return nil, fmt.Errorf("a trailing comma")
		}
	}
	return items, nil
}

type sfParser struct{ s string }

func (p *sfParser) eat(c byte) bool {
	if p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

func (p *sfParser) item() (sfItem, error) {
	item := sfItem{parameters: map[string]int64{}}
	var err error
	if item.name, err = p.str(); err != nil {
		return item, err
	}
	for p.eat(';') {
		p.s = strings.TrimLeft(p.s, " ")
		key := p.key()
		if key == "" {
			return item, fmt.Errorf("no key")
		}
		if !p.eat('=') {
			return item, fmt.Errorf("a Boolean")
		}
		if item.parameters[key], err = p.integer(); err != nil {
			return item, err
		}
	}
	return item, nil
}

func (p *sfParser) str() (string, error) {
	if !p.eat('"') {
		return "", fmt.Errorf("no String")
	}
	var out strings.Builder
	for p.s != "" {
		c := p.s[0]
		p.s = p.s[1:]
		switch {
		case c == '"':
			return out.String(), nil
		case c == '\\':
			if p.s == "" || p.s[0] != '"' && p.s[0] != '\\' {
				return "", fmt.Errorf("a bad escape")
			}
			out.WriteByte(p.s[0])
			p.s = p.s[1:]
		case c < 0x20 || c > 0x7e:
			return "", fmt.Errorf("byte %#x in a String", c)
		default:
			out.WriteByte(c)
		}
	}
	return "", fmt.Errorf("a String without an end")
}

func (p *sfParser) key() string {
	n := 0
	for n < len(p.s) && strings.IndexByte("abcdefghijklmnopqrstuvwxyz0123456789_-.*", p.s[n]) >= 0 {
		n++
	}
	key := p.s[:n]
	if key != "" && strings.IndexByte("0123456789_-.", key[0]) >= 0 {
		return ""
	}
	p.s = p.s[n:]
	return key
}

func (p *sfParser) integer() (n int64, err error) {
	negative, digits := p.eat('-'), 0
	for p.s != "" && '0' <= p.s[0] && p.s[0] <= '9' {
		n, digits, p.s = n*10+int64(p.s[0]-'0'), digits+1, p.s[1:]
		if digits > 15 {
			return 0, fmt.Errorf("an Integer of more than 15 digits")
		}
	}
	if digits == 0 || p.s != "" && p.s[0] == '.' {
		return 0, fmt.Errorf("no Integer")
	}
	if negative {
		n = -n
	}
	return n, nil
}

// readFields reads both fields as a client would, and holds them to what the
// draft demands: q and r at least 0, w above 0, t at least 0, one item each.
func readFields(t *testing.T, h http.Header) (policies, limits []sfItem) {
	t.Helper()
	policies, err := parseList(h.Values("RateLimit-Policy")...)
	require.NoError(t, err, h)
	for _, item := range policies {
		require.Contains(t, item.parameters, "q")
		require.GreaterOrEqual(t, item.parameters["q"], int64(0))
		if w, ok := item.parameters["w"]; ok {
			require.Positive(t, w)
		}
	}
	limits, err = parseList(h.Values("RateLimit")...)
	require.NoError(t, err, h)
	for _, item := range limits {
		require.Contains(t, item.parameters, "r")
		require.GreaterOrEqual(t, item.parameters["r"], int64(0))
		require.GreaterOrEqual(t, item.parameters["t"], int64(0))
	}
	return policies, limits
}

func TestParseListIsStrict(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		`a;q=1`, `"a`, `"a\n";q=1`, `"a\`, `"ü";q=1`, `"a";q`, `"a";Q=1`, `"a";q=`, `"a";q=1.5`,
		`"a";q=1000000000000000`, `"a";q=1,`, `"a";q=1 "b";q=1`, `"a" ;q=1`, `"a";=1`, "\"a\tb\";q=1",
	} {
		_, err := parseList(bad)
		require.Error(t, err, bad)
	}
	items, err := parseList(`"a\"\\";q=1; w=-2 ,	"b"`, `"c";r=999999999999999`)
	require.NoError(t, err)
	require.Equal(t, []sfItem{
		{`a"\`, map[string]int64{"q": 1, "w": -2}},
		{"b", map[string]int64{}},
		{"c", map[string]int64{"r": 999999999999999}},
	}, items)
}
