package accesslog

import (
	"bytes"
	"errors"
	"strings"
)

// What a line lacks.
var (
	errTime    = errors.New("no time where one should be")
	errCommon  = errors.New("it does not begin as ADDRESS IDENT USER [TIME]")
	errRequest = errors.New("no request in double quotes after the time")
	errStatus  = errors.New("no status and size after the request")
)

// A parser reads the lines of one format.
type parser interface {
	// parse returns when a line was written, and fills values with the text of the
	// fields that the parser was made for, nil for what the line does not say. Both
	// the line and the values are good until the next call.
	parse(line []byte, values [][]byte) (ns int64, err error)
}

// combined is the Common Log Format, and Combined, which adds the referer and the
// agent. Further fields in quotes may follow.
//
//	ADDRESS IDENT USER [TIME] "METHOD TARGET PROTOCOL" STATUS SIZE "REFERER" "AGENT" ...
type combined struct {
	fields []Field
	quoted []int // which of the quoted fields after the size a field is, from 1; 0 for none of them
	most   int   // of those
}

func newCombined(fields []Field) (*combined, error) {
	p := &combined{fields: fields, quoted: make([]int, len(fields))}
	for i, f := range fields {
		if f.kind != fieldHeader && f.kind != fieldNamed {
			continue
		}
		n, ok := combinedQuoted[strings.ToLower(f.name)]
		if !ok {
			return nil, errors.New("key " + f.String() + ": a line of the Combined format has header:Referer and header:User-Agent, " +
				"and field:3 to field:9 for what follows them in quotes")
		}
		p.quoted[i], p.most = n, max(p.most, n)
	}
	return p, nil
}

var combinedQuoted = map[string]int{
	"referer": 1, "user-agent": 2, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9,
}

func (p *combined) parse(line []byte, values [][]byte) (ns int64, err error) {
	address, rest := cutSpace(line)
	ident, rest := cutSpace(rest)
	open := bytes.IndexByte(rest, '[')
	if len(address) == 0 || len(ident) == 0 || open < 2 || rest[open-1] != ' ' {
		return 0, errCommon
	}
	user, rest := rest[:open-1], rest[open+1:]
	if len(rest) < commonTimeLen+3 || string(rest[commonTimeLen:commonTimeLen+3]) != `] "` {
		return 0, errTime
	}
	ns, ok := parseCommonTime(rest[:commonTimeLen])
	if !ok {
		return 0, errTime
	}
	request, rest, ok := cutQuoted(rest[commonTimeLen+2:])
	if !ok {
		return 0, errRequest
	}
	if rest, ok = cutStatus(rest); !ok {
		return 0, errStatus
	}
	for i, f := range p.fields {
		switch f.kind {
		case fieldAddress:
			values[i] = address
		case fieldUser:
			values[i] = unlessDash(user)
		case fieldPath:
			values[i] = pathOf(request)
		default:
			values[i] = nil
		}
	}
	p.fillQuoted(rest, values)
	return ns, nil
}

// fillQuoted takes the values that stand in quotes after the size.
func (p *combined) fillQuoted(rest []byte, values [][]byte) {
	for n := 1; n <= p.most; n++ {
		if len(rest) == 0 || rest[0] != ' ' {
			return
		}
		value, after, ok := cutQuoted(rest[1:])
		if !ok || len(after) > 0 && after[0] != ' ' {
			return
		}
		rest = after
		for i, q := range p.quoted {
			if q == n {
				values[i] = unlessDash(value)
			}
		}
	}
}

// cutSpace cuts at the first space; without one nothing is left.
func cutSpace(b []byte) (before, after []byte) {
	i := bytes.IndexByte(b, ' ')
	if i < 0 {
		return nil, nil
	}
	return b[:i], b[i+1:]
}

// cutQuoted takes a text in double quotes from the front, in which a backslash
// goes with whatever follows it.
func cutQuoted(b []byte) (text, after []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	for i := 1; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return nil, nil, false
		}
		i += n
		if !escaped(b[1:i]) {
			return b[1:i], b[i+1:], true
		}
	}
}

// escaped reports whether an odd number of backslashes ends b: what comes next is
// part of the text.
func escaped(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// cutStatus takes " 200 1234" or " 304 -" from the front.
func cutStatus(b []byte) (after []byte, ok bool) {
	if len(b) < len(" 200 -") || b[0] != ' ' || !isDigit(b[1]) || !isDigit(b[2]) || !isDigit(b[3]) || b[4] != ' ' {
		return nil, false
	}
	b = b[5:]
	if b[0] == '-' {
		b = b[1:]
	} else {
		n := 0
		for n < len(b) && isDigit(b[n]) {
			n++
		}
		if n == 0 {
			return nil, false
		}
		b = b[n:]
	}
	return b, len(b) == 0 || b[0] == ' '
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func unlessDash(b []byte) []byte {
	if len(b) == 1 && b[0] == '-' {
		return nil
	}
	return b
}

// pathOf returns the path of a request line, without its query; nil of what is
// none, such as the bytes of a TLS handshake.
func pathOf(request []byte) []byte {
	_, target := cutSpace(request)
	if path, protocol := cutSpace(target); protocol != nil {
		target = path
	}
	return targetPath(target)
}

// targetPath returns the path of "/path?query".
func targetPath(target []byte) []byte {
	if i := bytes.IndexByte(target, '?'); i >= 0 {
		target = target[:i]
	}
	if len(target) == 0 {
		return nil
	}
	return target
}
