package policyfile_test

import (
	"os"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir/policyfile"
)

// TestRead_SaysWhyItCouldNot: of a file that can be opened, and not read.
func TestRead_SaysWhyItCouldNot(t *testing.T) {
	_, err := policyfile.Read("/proc/self/mem")
	require.ErrorIs(t, err, syscall.EIO)
}

// TestRead_ClosesTheFile: not when the garbage collector does.
func TestRead_ClosesTheFile(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	path := file(t, `{"api": "1/s"}`)
	_, err := policyfile.Read(path)
	require.NoError(t, err)
	before := open()
	for range 5 {
		_, err := policyfile.Read(path)
		require.NoError(t, err)
	}
	require.Equal(t, before, open())
}
