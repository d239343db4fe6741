package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// words splits a command as a shell does, with single quotes.
func words(command string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(command, -1) {
		all = append(all, m[1]+m[2])
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// What the READMEs show is what the command prints.
func TestREADME_OutputsAreWhatIsPrinted(t *testing.T) {
	for name, want := range map[string]int{"../../README.md": 4, "README.md": 2} {
		blocks := regexp.MustCompile("(?ms)^```console\n\\$ go run -C cmd/weir \\. ([^\n]*)\n(.*?)^```$").FindAllStringSubmatch(read(t, name), -1)
		require.Len(t, blocks, want, name)
		for _, block := range blocks {
			require.Equal(t, block[2], weirRun(t, words(block[1])...), "%s: %s", name, block[1])
		}
	}
}

func TestREADME_PicturesAreWhatIsDrawn(t *testing.T) {
	for name, args := range map[string][]string{
		"curve.svg":    {"plan"},
		"timeline.svg": {"replay", "-policy", "token-bucket 18/m"},
	} {
		drawn := filepath.Join(t.TempDir(), name)
		weirRun(t, append(args, "-svg", drawn, "testdata/access.log.gz")...)
		require.Equal(t, read(t, "../../docs/choose/"+name), read(t, drawn), name)
		require.Contains(t, read(t, "../../README.md"), "(docs/choose/"+name+")")
	}
}

func TestREADME_CommandsAreThese(t *testing.T) {
	code, out, _ := weirWith(nil, "help")
	require.Zero(t, code)
	for _, m := range regexp.MustCompile("`weir ([a-z]+)").FindAllStringSubmatch(read(t, "README.md"), -1) {
		require.Regexp(t, `(?m)^   `+m[1]+`[ ,]`, out)
	}
}
