package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Stdin is the name of the standard input among paths.
const Stdin = "(stdin)"

// An InputError says what in a log is wrong, and where.
type InputError struct {
	File string
	Line int // 0 for the file as a whole
	Err  error
}

// Error returns "access.log:17: what is wrong".
func (e *InputError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns what is wrong.
func (e *InputError) Unwrap() error { return e.Err }

// headSize is how much of a file is looked at to tell its format.
const headSize = 64 << 10

// A source is one file.
type source struct {
	name   string
	kept   io.ReadCloser // what cannot be opened twice: a pipe
	head   []byte        // what was read of kept
	format Format
	header []byte // of CSV
	first  int64  // when its first line was written
	size   int64  // bytes, compressed or not; 0 if that is not known

	// Of the cutter, which reads it.
	file   io.Closer
	reader io.Reader
	carry  []byte // the beginning of a line whose end was not read yet
	long   bool   // that line is longer than a chunk: its end is skipped
	last   int64  // the time of the last line that was read
	parser parser
	values [][]byte // for parser

	// Of whoever consumes it in order.
	lines  int   // blank ones included
	newest int64 // no line was written later
}

// newSource looks at the beginning of a file. It returns nil for an empty one.
func newSource(path string, o *Options) (*source, error) {
	s := &source{name: path}
	r, err := s.open(path, o)
	if err != nil {
		return nil, err
	}
	head := make([]byte, headSize)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		s.file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	head = head[:n]
	if s.size > 0 {
		s.file.Close()
	} else {
		s.kept, s.head = struct {
			io.Reader
			io.Closer
		}{r, s.file}, head
	}
	if len(bytes.TrimSpace(head)) == 0 && n < headSize {
		return nil, nil
	}
	return s, s.look(head, o)
}

// open opens the file and undoes its compression.
func (s *source) open(path string, o *Options) (io.Reader, error) {
	var file io.ReadCloser
	if path == Stdin {
		file = io.NopCloser(o.Stdin)
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("is a directory: name the files in it")}
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		if file = f; info.Mode().IsRegular() {
			s.size = info.Size()
		}
	}
	s.file = file
	return s.decompress(&meter{file, o.Progress})
}

// decompress goes by the first two bytes, not by the name: logs are renamed.
func (s *source) decompress(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 128<<10)
	if magic, _ := buffered.Peek(2); string(magic) != "\x1f\x8b" {
		return buffered, nil
	}
	z, err := gzip.NewReader(buffered)
	if err != nil {
		s.file.Close()
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return z, nil
}

// begin opens the file again, to read all of it.
func (s *source) begin(o *Options) (err error) {
	s.parser, err = s.newParser(o)
	if err != nil {
		return err
	}
	s.last, s.values = s.first, make([][]byte, len(o.Fields))
	if s.kept != nil {
		s.reader = io.MultiReader(bytes.NewReader(s.head), s.kept)
		return nil
	}
	s.reader, err = s.open(s.name, o)
	return err
}

// A meter tells how many bytes were read.
type meter struct {
	io.Reader
	read func(bytes int)
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if m.read != nil {
		m.read(n)
	}
	return n, err
}
