package accesslog

import (
	"bytes"
	"errors"
	"fmt"
)

// A Format is how the lines of a file are written.
type Format uint8

// The formats.
const (
	Auto     Format = iota // told by the first lines
	Combined               // or Common
	JSON
	CSV
)

// ParseFormat reads "auto", "combined", "common", "json" or "csv".
func ParseFormat(text string) (Format, error) {
	switch text {
	case "auto", "":
		return Auto, nil
	case "combined", "common":
		return Combined, nil
	case "json":
		return JSON, nil
	case "csv":
		return CSV, nil
	}
	return Auto, fmt.Errorf("format %q: it is one of auto, combined, json, csv", text)
}

// errFormat is what is said of a picture, a core dump, a letter.
var errFormat = errors.New("not an access log: no line of the first %d is in the Common or Combined format or an object of JSON, " +
	"and the first does not name the columns of CSV")

// linesLookedAt tell the format of a file: the first may have been cut by whoever
// rotates logs.
const linesLookedAt = 20

// look finds out the format of a file, and when its first line was written.
func (s *source) look(head []byte, o *Options) error {
	if s.format = o.Format; s.format == Auto {
		if s.format = detect(head, o); s.format == Auto {
			return &InputError{s.name, 1, unknownFormat(head)}
		}
	}
	if s.format == CSV {
		s.header, _, _ = bytes.Cut(head, []byte("\n"))
		s.header = bytes.Clone(bytes.TrimSuffix(s.header, []byte("\r")))
	}
	p, err := s.newParser(o)
	if err != nil {
		return &InputError{s.name, 1, err}
	}
	values := make([][]byte, len(o.Fields))
	for line := range bytes.Lines(head) {
		if ns, err := p.parse(trimEnd(line), values); err == nil {
			s.first = ns
			break
		}
	}
	return nil
}

func unknownFormat(head []byte) error {
	lines := bytes.Count(head, []byte("\n"))
	if lines == 0 && len(head) == headSize {
		return fmt.Errorf("not an access log: its first %d bytes have no line end", headSize)
	}
	return fmt.Errorf(errFormat.Error(), min(max(lines, 1), linesLookedAt))
}

// detect returns Auto of what is in none of the formats.
func detect(head []byte, o *Options) Format {
	common := combined{}
	object := newJSONLines(nil, o.Names)
	n := 0
	for line := range bytes.Lines(head) {
		line = trimEnd(line)
		if len(line) == 0 {
			continue
		}
		if n++; n > linesLookedAt {
			break
		}
		if _, err := common.parse(line, nil); err == nil {
			return Combined
		}
		if _, err := object.parse(line, nil); err != errJSON {
			return JSON
		}
	}
	header, _, _ := bytes.Cut(head, []byte("\n"))
	if _, err := newCSVLines(trimEnd(header), nil, o.Names); err == nil {
		return CSV
	}
	return Auto
}

func (s *source) newParser(o *Options) (parser, error) {
	switch s.format {
	case JSON:
		return newJSONLines(o.Fields, o.Names), nil
	case CSV:
		return newCSVLines(s.header, o.Fields, o.Names)
	}
	return newCombined(o.Fields)
}

// trimEnd takes the line end off.
func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}
