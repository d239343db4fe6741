package policyfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir/policyfile"
)

// file returns the path of a file with that text.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "limits.json")
	write(t, path, text)
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := policyfile.Read(file(t, limits))
		require.NoError(t, err)
		requirePolicies(t, map[string]string{"api": "all(10/s burst 20, sliding-window 1000/h)", "login": "5/10s"}, got)
	})
}

func TestRead_Refused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := file(t, "{\n\"api\": 5}")
		_, err := policyfile.Read(broken)
		require.EqualError(t, err, "policyfile: "+broken+`:2:8: policy "api" is a number: write it as a string, such as "10/s burst 20"`)

		_, err = policyfile.Read(filepath.Join(t.TempDir(), "limits.json"))
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorContains(t, err, "limits.json")

		dir := t.TempDir()
		_, err = policyfile.Read(dir)
		require.EqualError(t, err, "policyfile: "+dir+": it is a directory, not a file")

		_, err = policyfile.Read(file(t, strings.Repeat(" ", 3<<20)))
		require.ErrorContains(t, err, "larger than 1 MiB")

		_, err = policyfile.Read(file(t, ""))
		require.ErrorContains(t, err, "empty")
	})
}
