package promlimit_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/promlimit"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

func blocks(t *testing.T, language string) (found []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(read(t, "README.md"), -1) {
		found = append(found, m[1])
	}
	return found
}

func readmeQueries(t *testing.T) []string {
	queries := blocks(t, "promql")
	require.Len(t, queries, 7)
	return queries
}

// TestREADME_BlocksAreTried: here, or with a Prometheus in load_test.go.
func TestREADME_BlocksAreTried(t *testing.T) {
	code := regexp.MustCompile(`(?m)^\t`).ReplaceAllString(read(t, "example_test.go"), "")
	programs := blocks(t, "go")
	require.Len(t, programs, 1)
	require.Contains(t, code, "\n"+programs[0])
	require.Equal(t, []string{
		"go run ./examples/observed\n",
		"go test -C ../benchmarks -run '^$' -bench Observed -benchtime 500ms -count 8\n",
	}, blocks(t, "sh"))
	require.Len(t, blocks(t, "yaml"), 1)
	fences := regexp.MustCompile("(?m)^```.+$").FindAllString(read(t, "README.md"), -1)
	require.Len(t, fences, 1+2+1+len(readmeQueries(t)), "a block that no test looks at")
}

func TestREADME_ConfigurationIsOne(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(blocks(t, "yaml")[0]), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "alerts.yml"), []byte(read(t, "alerts.yml")), 0o600))
	promtool(t, "", "check", "config", filepath.Join(dir, "prometheus.yml"))
}

func TestREADME_TablesAreTheMetricsAndTheAlerts(t *testing.T) {
	limits := promlimit.NewCollector()
	limits.Add("api", counted(weir.Stats{}))
	registry := prometheus.NewRegistry()
	registry.MustRegister(limits)
	families, err := registry.Gather()
	require.NoError(t, err)
	types := map[string]string{}
	for _, family := range families {
		types[family.GetName()] = strings.ToLower(family.GetType().String())
	}
	told, waits := map[string]string{}, map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.+?) \\| (.+?) \\|$").FindAllStringSubmatch(read(t, "README.md"), -1) {
		if strings.HasPrefix(row[1], "weir_") {
			told[row[1]] = row[2]
		} else {
			waits[row[1]] = strings.Replace(row[3], " minutes", "m", 1)
		}
	}
	require.Equal(t, types, told)
	rules := map[string]string{}
	for _, rule := range regexp.MustCompile(`(?s)- alert: (\w+)\n.+?\n +for: (\w+)\n`).FindAllStringSubmatch(read(t, "alerts.yml"), -1) {
		rules[rule[1]] = rule[2]
	}
	require.Equal(t, rules, waits)
}
