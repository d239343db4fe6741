package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

var (
	errColumns = errors.New("it has fewer columns than the header")
	errQuotes  = errors.New("a column in double quotes has no end, or more after it")
)

// csvLines is a record a line, as in RFC 4180 but without line ends in a column.
// The first line has the names of the columns.
type csvLines struct {
	fields  []Field
	comma   byte
	columns [][]wanted
	found   gathering
	scratch []byte // of columns with doubled quotes
}

// newCSVLines makes a parser of the lines that follow a header. Columns are
// divided by whichever the header has most of: commas, semicolons or tabs.
func newCSVLines(header []byte, fields []Field, names Names) (*csvLines, error) {
	p := &csvLines{fields: fields, comma: ',', found: newGathering(len(fields))}
	for _, c := range []byte{';', '\t'} {
		if bytes.Count(header, []byte{c}) > bytes.Count(header, []byte{p.comma}) {
			p.comma = c
		}
	}
	c := newCatalog(fields, names)
	missing := make([]bool, 1+len(fields))
	for i := range missing {
		missing[i] = true
	}
	header = bytes.TrimPrefix(header, []byte("\ufeff"))
	for more := true; more; {
		var name []byte
		var err error
		if name, header, more, err = p.column(header); err != nil {
			return nil, err
		}
		wants := c[strings.ToLower(string(bytes.TrimSpace(name)))]
		for _, w := range wants {
			missing[w.slot] = false
		}
		p.columns = append(p.columns, wants)
	}
	if missing[0] {
		return nil, errors.New("no column is a time: say with -names how it is called, as in -names time=ts")
	}
	for i, f := range fields {
		if missing[1+i] {
			return nil, fmt.Errorf("no column is the %s: say with -names or -key field:NAME how it is called", f)
		}
	}
	return p, nil
}

func (p *csvLines) parse(line []byte, values [][]byte) (ns int64, err error) {
	p.found.clear()
	p.scratch = p.scratch[:0]
	more := true
	for _, wants := range p.columns {
		if !more {
			return 0, errColumns
		}
		var text []byte
		if text, line, more, err = p.column(line); err != nil {
			return 0, err
		}
		for _, w := range wants {
			p.found.put(w, text)
		}
	}
	return p.found.finish(p.fields, values)
}

// column takes the first column of a line, and says whether another follows.
func (p *csvLines) column(line []byte) (text, rest []byte, more bool, err error) {
	if len(line) > 0 && line[0] == '"' {
		if text, rest, err = p.quoted(line[1:]); err != nil {
			return nil, nil, false, err
		}
		if len(rest) == 0 {
			return text, nil, false, nil
		}
		return text, rest[1:], true, nil
	}
	if i := bytes.IndexByte(line, p.comma); i >= 0 {
		return line[:i], line[i+1:], true, nil
	}
	return line, nil, false, nil
}

// quoted takes a column up to its closing quote, where a doubled one stands for
// one. What is left begins with a comma or is nothing.
func (p *csvLines) quoted(line []byte) (text, rest []byte, err error) {
	begin, doubled := len(p.scratch), false
	for at := 0; ; {
		n := bytes.IndexByte(line[at:], '"')
		if n < 0 {
			return nil, nil, errQuotes
		}
		end := at + n
		if rest = line[end+1:]; len(rest) == 0 || rest[0] == p.comma {
			if !doubled {
				return line[:end], rest, nil
			}
			p.scratch = append(p.scratch, line[at:end]...)
			return p.scratch[begin:], rest, nil
		}
		if rest[0] != '"' {
			return nil, nil, errQuotes
		}
		doubled = true
		p.scratch = append(p.scratch, line[at:end+1]...)
		at = end + 2
	}
}
