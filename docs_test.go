package weir_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every test that docs/guarantees.md names is one.
func TestGuaranteesNameTestsThatExist(t *testing.T) {
	there := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			for _, found := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(readFile(t, path), -1) {
				there[found[1]] = true
			}
		}
		return err
	}))
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(readFile(t, "docs/guarantees.md"), -1)
	require.Greater(t, len(named), 80)
	for _, name := range named {
		require.True(t, there[name[1]], name[1])
	}
}
