//go:build unix

package policyfile

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAFIFOInTheFilesPlaceIsNeitherReadNorWaitedFor: not even if it takes it just before it is opened.
func TestAFIFOInTheFilesPlaceIsNeitherReadNorWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.json")
	fifo, other := path+".fifo", path+".file"
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	written(t, other, "{}", time.Unix(1e9, 0))
	require.NoError(t, os.Link(other, path))
	var stop atomic.Bool
	swapped := make(chan error, 1)
	go func() {
		var err error
		for !stop.Load() && err == nil {
			err = errors.Join(os.Link(fifo, path+".new"), os.Rename(path+".new", path),
				os.Link(other, path+".new"), os.Rename(path+".new", path))
		}
		swapped <- err
	}()
	for range 10000 {
		if r := readOnce(path); r.err != nil {
			require.ErrorContains(t, r.err, "limits.json: it is a FIFO, not a file")
		} else {
			require.Equal(t, "{}", string(r.data))
		}
	}
	stop.Store(true)
	require.NoError(t, <-swapped)
}
