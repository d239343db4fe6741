package order

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
)

// A file is a temporary one, which goes when nothing in it is held any more.
type file struct {
	*os.File
	segments int // not read back yet
}

// A segment is some rows of a slot in a file.
type segment struct {
	file  *file
	at    int64 // bytes
	words int
}

// spill writes all rows that are held to a new file.
func (s *Sorter) spill() error {
	f, err := os.CreateTemp("", "weir-*.rows")
	if err != nil {
		return fmt.Errorf("the log is too far out of order to be held in memory, and there is no temporary file: %w", err)
	}
	out := &file{File: f}
	s.overflow = append(s.overflow, out)
	w, at := bufio.NewWriterSize(f, 64<<10), int64(0)
	for _, t := range s.slots {
		if len(t.rows) == 0 {
			continue
		}
		for _, word := range t.rows {
			w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), word)) // Flush tells the error
		}
		t.written = append(t.written, segment{out, at, len(t.rows)})
		out.segments++
		at += 8 * int64(len(t.rows))
		if t.rows = t.rows[:0]; cap(t.rows) > s.width*64 {
			t.rows = nil
		}
	}
	s.held = 0
	return w.Flush()
}

// readBack returns all rows of a slot in the order in which they came.
func (s *Sorter) readBack(t *slot) ([]uint64, error) {
	words := len(t.rows)
	for _, g := range t.written {
		words += g.words
	}
	rows := make([]uint64, 0, words)
	for _, g := range t.written {
		raw := make([]byte, 8*g.words)
		if _, err := g.file.ReadAt(raw, g.at); err != nil {
			return nil, err
		}
		for ; len(raw) > 0; raw = raw[8:] {
			rows = append(rows, binary.LittleEndian.Uint64(raw))
		}
		if g.file.segments--; g.file.segments == 0 {
			g.file.remove()
			s.overflow = slices.DeleteFunc(s.overflow, func(f *file) bool { return f == g.file })
		}
	}
	return append(rows, t.rows...), nil
}

func (f *file) remove() {
	f.Close()
	os.Remove(f.Name())
}

// Close removes what temporary files are left.
func (s *Sorter) Close() {
	for _, f := range s.overflow {
		f.remove()
	}
	s.overflow = nil
}
