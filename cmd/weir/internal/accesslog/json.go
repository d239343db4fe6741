package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errJSON = errors.New("it is not an object of JSON")

// maxNesting bounds the stack that a line can make the parser use.
const maxNesting = 64

// jsonLines is one object of JSON a line.
type jsonLines struct {
	fields  []Field
	catalog catalog
	found   gathering
	name    []byte // of where the parser is, in lower case, with dots
	scratch []byte // of strings with escapes
	line    []byte
	at      int
}

func newJSONLines(fields []Field, names Names) *jsonLines {
	return &jsonLines{fields: fields, catalog: newCatalog(fields, names), found: newGathering(len(fields))}
}

func (p *jsonLines) parse(line []byte, values [][]byte) (ns int64, err error) {
	p.line, p.at = line, 0
	p.name, p.scratch = p.name[:0], p.scratch[:0]
	p.found.clear()
	if p.peek() != '{' || !p.value(0) || p.peek() != 0 {
		return 0, errJSON
	}
	return p.found.finish(p.fields, values)
}

// peek returns the next byte that is not space, and 0 at the end.
func (p *jsonLines) peek() byte {
	for ; p.at < len(p.line); p.at++ {
		switch c := p.line[p.at]; c {
		case ' ', '\t', '\r', '\n':
		case 0:
			return 1 // no byte of JSON, and not the end
		default:
			return c
		}
	}
	return 0
}

// value reads a value, and puts it where its name is wanted. Its methods report
// false where the line is no JSON.
func (p *jsonLines) value(depth int) bool {
	switch c := p.peek(); {
	case depth > maxNesting:
		return false
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		text, ok := p.text()
		if ok {
			p.put(text)
		}
		return ok
	default:
		return p.literal()
	}
}

func (p *jsonLines) put(value []byte) {
	for _, w := range p.catalog[string(p.name)] {
		p.found.put(w, value)
	}
}

func (p *jsonLines) object(depth int) bool {
	p.at++
	if p.peek() == '}' {
		p.at++
		return true
	}
	outer := len(p.name)
	for {
		if p.peek() != '"' {
			return false
		}
		name, ok := p.text()
		if !ok || p.peek() != ':' {
			return false
		}
		p.at++
		if outer > 0 {
			p.name = append(p.name, '.')
		}
		for _, c := range name {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			p.name = append(p.name, c)
		}
		if !p.value(depth + 1) {
			return false
		}
		p.name = p.name[:outer]
		switch c := p.peek(); {
		case c == ',':
			p.at++
		case c == '}':
			p.at++
			return true
		default:
			return false
		}
	}
}

// array reads an array; its first text or number counts, as of a header field
// with several lines.
func (p *jsonLines) array(depth int) bool {
	p.at++
	if p.peek() == ']' {
		p.at++
		return true
	}
	outer := len(p.name)
	for {
		if !p.value(depth + 1) {
			return false
		}
		p.name = append(p.name, '[') // the others are called what nothing is called
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			p.at++
			p.name = p.name[:outer]
			return true
		default:
			return false
		}
	}
}

// text reads a string, without its quotes and with its escapes undone.
func (p *jsonLines) text() (text []byte, ok bool) {
	start := p.at + 1
	for i := start; ; i++ {
		n := bytes.IndexByte(p.line[i:], '"')
		if n < 0 {
			return nil, false
		}
		if i += n; escaped(p.line[start:i]) {
			continue
		}
		p.at = i + 1
		text = p.line[start:i]
		if bytes.IndexByte(text, '\\') < 0 {
			return text, true
		}
		var s string // escapes are rare: what they cost does not matter
		if json.Unmarshal(p.line[start-1:i+1], &s) != nil {
			return nil, false
		}
		begin := len(p.scratch)
		p.scratch = append(p.scratch, s...)
		return p.scratch[begin:], true
	}
}

// literal reads a number, true, false or null, which counts as nothing.
func (p *jsonLines) literal() bool {
	start := p.at
	for p.at < len(p.line) && (isDigit(p.line[p.at]) || 'a' <= p.line[p.at] && p.line[p.at] <= 'z' || bytes.IndexByte([]byte("+-.E"), p.line[p.at]) >= 0) {
		p.at++
	}
	text := p.line[start:p.at]
	switch string(text) {
	case "null":
		return true
	case "true", "false":
	default:
		if len(text) == 0 || !json.Valid(text) {
			return false
		}
	}
	p.put(text)
	return true
}
