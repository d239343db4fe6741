package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A quick run goes through everything that a whole one does.
func TestQuickRunWritesThePageAndItsCharts(t *testing.T) {
	folder := t.TempDir()
	results := newRunner(quickScale(), regexp.MustCompile(""), io.Discard).all()
	require.NoError(t, results.write(folder))

	text, err := os.ReadFile(filepath.Join(folder, "BENCHMARKS.md"))
	require.NoError(t, err)
	page := string(text)
	require.Contains(t, page, "# Benchmarks\n")
	require.Contains(t, page, "A trial run")
	require.NotContains(t, page, "not measured")
	require.NotContains(t, page, "NaN")
	require.NotContains(t, page, folder)
	for _, s := range results.Speeds {
		require.Contains(t, page, "\n## "+s.Title+"\n")
	}

	images := regexp.MustCompile(`!\[[^]]+\]\(([^)]+)\)`).FindAllStringSubmatch(page, -1)
	require.Len(t, images, 17+3)
	for _, image := range images {
		svg, err := os.ReadFile(filepath.Join(folder, image[1]))
		require.NoError(t, err)
		require.Contains(t, string(svg), "<svg")
		require.Contains(t, string(svg), ">weir")
	}

	again, err := readResults(filepath.Join(folder, chartFolder, "results.json"))
	require.NoError(t, err)
	require.Equal(t, page, again.markdown())
}

func TestPartOfARun(t *testing.T) {
	results := newRunner(quickScale(), regexp.MustCompile("^limiter-allowed$"), io.Discard).all()
	require.Len(t, results.Speeds, 1)
	require.Len(t, results.charts(), 1)
	page := results.markdown()
	require.Contains(t, page, "| All of two token buckets / one | at most 1.6 |")
	require.Equal(t, len(results.goals())-4, strings.Count(page, "not measured"))
}
