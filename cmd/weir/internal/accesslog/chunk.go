package accesslog

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"slices"
)

// chunkSize is how much is parsed at once, and the length of the longest line: the
// largest that stays in a core's own cache.
const chunkSize = 256 << 10

// A chunk is some whole lines of one file, and what is made of them.
type chunk struct {
	source   *source
	data     []byte
	first    bool  // it begins the file
	long     bool  // instead of data, a line that is longer than a chunk
	err      error // instead of data: the file could not be read on
	frontier int64 // no line that is still to come was written earlier, but for what may be late

	parsed
	done chan struct{} // receives when it is parsed
}

// A cutter cuts files into chunks. Of files that overlap in time it reads on where
// the time is lowest, so that of none more is read than has to be held.
type cutter struct {
	options *Options
	pending []*source // by the time of their first lines
	active  []*source
}

// next fills a chunk, and reports false at the end of all files.
func (c *cutter) next(k *chunk) bool {
	for {
		s, err := c.lowest()
		if err != nil {
			k.source, k.err = s, err
			return true
		}
		if s == nil {
			return false
		}
		k.source, k.first = s, s.carry == nil
		more, err := s.cut(k)
		if err != nil {
			k.err = err
			return true
		}
		if !more {
			s.close()
			c.active = slices.DeleteFunc(c.active, func(a *source) bool { return a == s })
		}
		k.frontier = c.frontier()
		if len(k.data) > 0 || k.long {
			return true
		}
	}
}

// lowest returns the file that is furthest behind, which it may have to begin.
func (c *cutter) lowest() (*source, error) {
	for len(c.pending) > 0 && (len(c.active) == 0 || c.pending[0].first <= c.lowestActive().last) {
		s := c.pending[0]
		c.pending = c.pending[1:]
		if err := s.begin(c.options); err != nil {
			return s, err
		}
		c.active = append(c.active, s)
	}
	if len(c.active) == 0 {
		return nil, nil
	}
	return c.lowestActive(), nil
}

func (c *cutter) lowestActive() *source {
	return slices.MinFunc(c.active, func(a, b *source) int { return cmp.Compare(a.last, b.last) })
}

func (c *cutter) frontier() int64 {
	f := int64(math.MaxInt64)
	if len(c.active) > 0 {
		f = c.lowestActive().last
	}
	if len(c.pending) > 0 {
		f = min(f, c.pending[0].first)
	}
	return f
}

func (c *cutter) close() {
	for _, s := range slices.Concat(c.active, c.pending) {
		s.close()
	}
}

// close closes what is open of a file.
func (s *source) close() {
	if s.kept != nil {
		s.kept.Close()
	} else if s.reader != nil && s.file != nil {
		s.file.Close()
	}
	s.file = nil
}

// cut fills k with whole lines, and reports false at the end of the file. A last
// line without a line end is a line.
func (s *source) cut(k *chunk) (more bool, err error) {
	buffer := k.data[:cap(k.data)]
	n := copy(buffer, s.carry)
	m, err := io.ReadFull(s.reader, buffer[n:])
	k.data = buffer[:n+m]
	if more = err == nil; err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	if s.long {
		s.skipLong(k)
	}
	s.carry = s.carry[:0]
	if s.carry == nil {
		s.carry = make([]byte, 0, 4<<10)
	}
	if !more || s.long {
		s.note(k.data)
		return more, err
	}
	end := bytes.LastIndexByte(k.data, '\n') + 1
	if end == 0 && len(k.data) == cap(k.data) {
		k.long, s.long = true, true
		k.data = k.data[:0]
		return more, nil
	}
	s.carry = append(s.carry, k.data[end:]...)
	k.data = k.data[:end]
	s.note(k.data)
	return more, nil
}

// skipLong drops the rest of a line that was too long, from what was read.
func (s *source) skipLong(k *chunk) {
	end := bytes.IndexByte(k.data, '\n') + 1
	if end == 0 {
		k.data = k.data[:0]
		return
	}
	s.long = false
	k.data = k.data[:copy(k.data, k.data[end:])]
}

// note remembers when the last of some lines was written.
func (s *source) note(lines []byte) {
	lines = trimEnd(lines)
	line := trimEnd(lines[bytes.LastIndexByte(lines, '\n')+1:])
	if ns, err := s.parser.parse(line, s.values); err == nil {
		s.last = ns
	}
}
