package policyfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/goweir/weir"
)

const (
	// settling is how long a file has to stay as it was first read: longer than
	// a writer is away from a busy processor between two writes, and shorter than
	// anybody notices.
	settling = 50 * time.Millisecond
	// settlings bounds a look at a file that does not settle to a second.
	settlings = 20
)

// Read returns the policies of the file, by name.
func Read(path string) (map[string]weir.Policy, error) {
	r := readOnce(path)
	if r.err == nil {
		r = r.settled(context.Background())
	}
	return r.policies()
}

// A reading is what was found at a path at one time.
type reading struct {
	path string
	data []byte
	info fs.FileInfo // as it was before the data was read
	err  error
}

func readOnce(path string) reading {
	r := reading{path: path}
	r.data, r.info, r.err = readFile(path)
	if r.err != nil {
		r.err = fmt.Errorf("policyfile: %w", r.err)
	}
	return r
}

func readFile(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path) // before opening, which is enough to make some devices do something
	if err != nil {
		return nil, nil, err
	}
	if err := checkRegular(path, info); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	if err := checkRegular(path, info); err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	return data, info, err
}

func checkRegular(path string, info fs.FileInfo) error {
	is := "a device"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		is = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		is = "a FIFO"
	case mode&fs.ModeSocket != 0:
		is = "a socket"
	}
	return fmt.Errorf("%s: it is %s, not a file", path, is)
}

// sees reports whether both readings found the same, whenever it was written.
func (r reading) sees(s reading) bool {
	if r.err != nil || s.err != nil {
		return r.err != nil && s.err != nil && r.err.Error() == s.err.Error()
	}
	return bytes.Equal(r.data, s.data)
}

// untouched reports whether nobody wrote between the two readings.
func (r reading) untouched(s reading) bool {
	return r.sees(s) && (r.err != nil ||
		r.info.Size() == s.info.Size() && r.info.ModTime().Equal(s.info.ModTime()) && os.SameFile(r.info, s.info))
}

var errRestless = errors.New("it is being written again and again")

// settled reads until two readings in a row find an untouched file, and returns the
// last of them.
func (r reading) settled(ctx context.Context) reading {
	for range settlings {
		if err := sleep(ctx, settling); err != nil {
			return reading{path: r.path, err: err}
		}
		next := readOnce(r.path)
		if next.untouched(r) {
			return next
		}
		r = next
	}
	return reading{path: r.path, err: fmt.Errorf("policyfile: %s: %w", r.path, errRestless)}
}

func (r reading) policies() (map[string]weir.Policy, error) {
	if r.err != nil {
		return nil, r.err
	}
	policies, err := parse(r.data)
	if err != nil {
		return nil, fmt.Errorf("policyfile: %s:%w", r.path, err)
	}
	return policies, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ctx.Err() // both may have come at once
	}
}
