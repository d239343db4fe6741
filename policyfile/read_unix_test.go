//go:build unix

package policyfile_test

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir/policyfile"
)

func TestRead_NotAFile(t *testing.T) {
	dir, err := os.MkdirTemp("", "weir") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	fifo, socket := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()

	for path, says := range map[string]string{
		fifo:        "it is a FIFO, not a file",
		socket:      "it is a socket, not a file",
		os.DevNull:  "it is a device, not a file",
		"/dev/zero": "it is a device, not a file",
	} {
		_, err := policyfile.Read(path)
		require.EqualError(t, err, "policyfile: "+path+": "+says)
	}
}

// A mounted configuration is often a link that is pointed elsewhere.
func TestWatch_SymbolicLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "limits.json")
		require.NoError(t, os.Symlink(file(t, `{"api": "1/s"}`), path))
		w := watch(t, path)
		w.applied("api=token-bucket 1/s")

		require.NoError(t, os.Symlink(file(t, `{"api": "2/s"}`), path+".new"))
		require.NoError(t, os.Rename(path+".new", path))
		time.Sleep(every)
		w.applied("api=token-bucket 2/s")
	})
}

// A FIFO in the file's place is not waited for.
func TestWatch_FIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "1/s"}`)
		w := watch(t, path)
		w.applied("api=token-bucket 1/s")
		w.logged("policy applied")

		require.NoError(t, os.Remove(path))
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		time.Sleep(5 * every)
		w.logged(`"policies not changed" file=FILE error="policyfile: FILE: it is a FIFO, not a file"`)

		require.NoError(t, os.Remove(path))
		write(t, path, `{"api": "2/s"}`)
		time.Sleep(every)
		w.applied("api=token-bucket 2/s")
	})
}
