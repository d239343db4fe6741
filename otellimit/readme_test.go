package otellimit_test

import (
	"context"
	"os"
	"regexp"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/otellimit"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// documented returns the instruments of a text: name, unit and kind.
func documented(t *testing.T, file string) (instruments [][]string) {
	t.Helper()
	row := regexp.MustCompile("(?m)^(?://\t|\\| )`?(weir\\.\\w+)`?[ |]+`?(\\{\\w+\\})`?[ |]+((?:up-down )?counter)\\b")
	for _, found := range row.FindAllStringSubmatch(read(t, file), -1) {
		instruments = append(instruments, found[1:])
	}
	return instruments
}

// TestREADME_BlocksAreCompiledCode: lines of an example, as they are.
func TestREADME_BlocksAreCompiledCode(t *testing.T) {
	examples := regexp.MustCompile(`(?m)^\t`).ReplaceAllString(read(t, "example_test.go"), "")
	readme := read(t, "README.md")
	found := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(readme, -1)
	require.Len(t, found, 3)
	for _, block := range found {
		require.Contains(t, examples, "\n"+block[1])
	}
	require.Contains(t, readme, "```sh\ngo run ./examples/observed\n```\n")
	require.Len(t, regexp.MustCompile("(?m)^```.+$").FindAllString(readme, -1), 4, "a block that no test looks at")
}

func TestREADME_AttributesAreThoseOfASpan(t *testing.T) {
	tracer, recorder := record(t)
	ctx, span := tracer.Start(context.Background(), "request")
	otellimit.Annotate(ctx, "api", weir.Decision{})
	span.End()
	var names []string
	for name := range attributesOf(t, recorder) {
		names = append(names, name)
	}
	for file, row := range map[string]string{"README.md": "(?m)^\\| `(weir\\.\\w+)` \\| [^|`{]", "span.go": `(?m)^//	(weir\.\w+) `} {
		var told []string
		for _, found := range regexp.MustCompile(row).FindAllStringSubmatch(read(t, file), -1) {
			told = append(told, found[1])
		}
		require.ElementsMatch(t, names, told, file)
	}
}
