package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuickRunInRedisWritesItsPage(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("WEIR_REDIS") == "" {
		t.Skip("redis-server is not installed: apt-get install redis-server")
	}
	folder := t.TempDir()
	require.NoError(t, runRedis(quickScale(), regexp.MustCompile(""), "", folder))
	text, err := os.ReadFile(filepath.Join(folder, "redislimit", "BENCHMARKS.md"))
	require.NoError(t, err)
	page := string(text)
	require.Contains(t, page, "A trial run")
	require.NotContains(t, page, "not measured")
	require.NotContains(t, page, "NaN")
	require.NoError(t, runRedis(scale{}, nil, filepath.Join(folder, chartFolder, "redis.json"), folder))
	again, err := os.ReadFile(filepath.Join(folder, "redislimit", "BENCHMARKS.md"))
	require.NoError(t, err)
	require.Equal(t, page, string(again))
	require.Regexp(t, `\| weir, leases \| [1-9]`, page)
}

func TestARunInRedisSaysWhatIsNotInstalled(t *testing.T) {
	t.Setenv("PATH", "")
	require.ErrorContains(t, runRedis(quickScale(), regexp.MustCompile(""), "", t.TempDir()), "apt-get install redis-server")
}
