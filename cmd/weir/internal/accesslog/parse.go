package accesslog

import "bytes"

// parsed is what is made of the lines of a chunk.
type parsed struct {
	rows    []uint64
	texts   []keyText
	letters []byte // of the texts
	ends    int    // lines, blank ones and a header included
	lines   int    // without those
	skipped int    // of them
	bad     error  // why the first of those was
	badLine int    // which that is, from 1
}

// A keyText is what a key was read from: letters[begin:end].
type keyText struct {
	key        Key
	begin, end uint32
}

func (k *chunk) reset() {
	k.source, k.data, k.first, k.long, k.err = nil, k.data[:0], false, false, nil
	k.parsed = parsed{rows: k.rows[:0], texts: k.texts[:0], letters: k.letters[:0]}
}

// A lineParser makes rows of chunks. It is of one goroutine.
type lineParser struct {
	options *Options
	hasher  hasher
	source  *source // which parser is for
	parser  parser
	values  [][]byte
}

func newLineParser(o *Options, h hasher) *lineParser {
	return &lineParser{options: o, hasher: h, values: make([][]byte, len(o.Fields))}
}

// parse parses all lines of a chunk.
func (p *lineParser) parse(k *chunk) {
	if k.err != nil || !p.prepare(k) {
		return
	}
	for rest := k.data; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		k.ends++
		if len(line) == 0 || k.isHeader(k.ends) {
			continue
		}
		k.lines++
		ns, err := p.parser.parse(line, p.values)
		if err != nil {
			if k.skipped++; k.bad == nil {
				k.bad, k.badLine = err, k.ends
			}
			continue
		}
		k.rows = append(k.rows, uint64(ns))
		for i, value := range p.values {
			k.rows = append(k.rows, uint64(p.key(k, i, value)))
		}
	}
}

// isHeader reports whether a line of a chunk names the columns.
func (k *chunk) isHeader(number int) bool {
	return number == 1 && k.first && k.source.format == CSV
}

// prepare has a parser for the file of a chunk.
func (p *lineParser) prepare(k *chunk) bool {
	if p.source == k.source {
		return true
	}
	parser, err := k.source.newParser(p.options)
	if err != nil {
		k.err = &InputError{k.source.name, 1, err}
		return false
	}
	p.source, p.parser = k.source, parser
	return true
}

// longestText is how much of a key's text is kept.
const longestText = 200

func (p *lineParser) key(k *chunk, field int, value []byte) Key {
	if len(value) == 0 {
		return None
	}
	if p.options.Fields[field].kind != fieldAddress {
		return k.keep(p.hasher.textKey(1+field, value), value)
	}
	key := p.hasher.addressKey(value)
	if key.isText() {
		k.keep(key, value)
	}
	return key
}

func (k *chunk) keep(key Key, text []byte) Key {
	begin := uint32(len(k.letters))
	k.letters = append(k.letters, text[:min(len(text), longestText)]...)
	k.texts = append(k.texts, keyText{key, begin, uint32(len(k.letters))})
	return key
}

// lineOf returns which line of a chunk a row was made of, from 1.
func (p *lineParser) lineOf(k *chunk, row int) int {
	if !p.prepare(k) {
		return 0
	}
	number := 0
	for rest := k.data; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		number++
		if len(line) == 0 || k.isHeader(number) {
			continue
		}
		if _, err := p.parser.parse(line, p.values); err != nil {
			continue
		}
		if row--; row < 0 {
			break
		}
	}
	return number
}

func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		i = len(b)
		rest = nil
	} else {
		rest = b[i+1:]
	}
	if i > 0 && b[i-1] == '\r' {
		i--
	}
	return b[:i], rest
}
