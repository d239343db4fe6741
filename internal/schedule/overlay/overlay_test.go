package overlay_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goweir/weir/internal/schedule/overlay"
	"github.com/stretchr/testify/require"
)

const weir = "github.com/goweir/weir"

// TestALineStaysWhereItIs: so what is said of a copy is true of its source.
func TestALineStaysWhereItIs(t *testing.T) {
	path, err := overlay.Overlay{Package: weir}.Write(t.TempDir())
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var written struct{ Replace map[string]string }
	require.NoError(t, json.Unmarshal(data, &written))
	packages := make(map[string]bool)
	for source, replacement := range written.Replace {
		old, err := os.ReadFile(source)
		require.NoError(t, err)
		text, err := os.ReadFile(replacement)
		require.NoError(t, err)
		require.Equal(t, bytes.Count(old, []byte("\n")), bytes.Count(text, []byte("\n")), source)
		require.NotContains(t, string(text), `"sync`, "%s: it has points", source)
		packages[filepath.Base(filepath.Dir(source))] = true
	}
	require.Subset(t, packages, map[string]bool{"table": true, "striped": true, "arena": true})
	require.NotContains(t, packages, "schedule")
}

// TestWhatIsNotThereIsNotChanged: a change that has become one of nothing is no
// success.
func TestWhatIsNotThereIsNotChanged(t *testing.T) {
	for name, o := range map[string]overlay.Overlay{
		"no constant": {Package: weir, Constants: map[string]string{"theMost": "1"}},
		"0 times":     {Package: weir, Changes: []overlay.Change{{Old: "no such thing", New: ""}}},
		"times in":    {Package: weir, Changes: []overlay.Change{{Old: "atomic.", New: ""}}},
		"go list":     {Package: weir + "/nowhere"},
	} {
		_, err := o.Write(t.TempDir())
		require.ErrorContains(t, err, name)
	}
}
