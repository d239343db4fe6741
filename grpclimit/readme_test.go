package grpclimit_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// TestREADME_BlocksAreRunCode: lines of an example, as they are.
func TestREADME_BlocksAreRunCode(t *testing.T) {
	examples := regexp.MustCompile(`(?m)^\t`).ReplaceAllString(read(t, "example_test.go"), "")
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(read(t, "README.md"), -1)
	require.Len(t, blocks, 6)
	for _, block := range blocks {
		require.True(t, strings.Contains(examples, "\n"+block[1]), "no example has these lines:\n%s", block[1])
	}
}
