package plan

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// A Spool keeps rows in a temporary file, to be read more than once: what a log has
// of them may not fit into memory, or come from a pipe.
type Spool struct {
	file  *os.File
	w     *bufio.Writer
	words int64
}

// NewSpool returns an empty Spool. Close removes it.
func NewSpool() (*Spool, error) {
	f, err := os.CreateTemp("", "weir-*.spool")
	if err != nil {
		return nil, err
	}
	return &Spool{file: f, w: bufio.NewWriterSize(f, 256<<10)}, nil
}

// Add appends rows.
func (s *Spool) Add(rows []uint64) error {
	for _, word := range rows {
		if _, err := s.w.Write(binary.LittleEndian.AppendUint64(s.w.AvailableBuffer(), word)); err != nil {
			return err
		}
	}
	s.words += int64(len(rows))
	return nil
}

// batchWords are read at a time: a multiple of most widths of a row.
const batchWords = 64 * 2 * 3 * 5 * 7

// Each calls f with all rows, of so many words each, many at a time.
func (s *Spool) Each(ctx context.Context, width int, f func(rows []uint64)) error {
	if err := s.w.Flush(); err != nil {
		return err
	}
	raw := make([]byte, 8*(batchWords/width)*width)
	rows := make([]uint64, 0, len(raw)/8)
	r := io.NewSectionReader(s.file, 0, 8*s.words)
	for ctx.Err() == nil {
		n, err := io.ReadFull(r, raw)
		rows = rows[:0]
		for b := raw[:n]; len(b) > 0; b = b[8:] {
			rows = append(rows, binary.LittleEndian.Uint64(b))
		}
		if len(rows) > 0 {
			f(rows)
		}
		switch {
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
	return ctx.Err()
}

// Close removes the file.
func (s *Spool) Close() {
	s.file.Close()
	os.Remove(s.file.Name())
}
