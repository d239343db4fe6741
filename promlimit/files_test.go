package promlimit_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/promlimit"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// A dashboard is what Grafana wants of one, as far as it is used here.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type  string
			Query       any
			Datasource  datasource
			Multi       bool
			IncludeAll  bool
			AllValue    string
			Definition  string
			SkipURLSync bool
		}
	}
	Panels []panel
}

type datasource struct{ Type, UID string }

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               datasource
	GridPos                  struct{ H, W, X, Y int }
	FieldConfig              struct {
		Defaults  struct{ Unit string }
		Overrides []any
	}
	Options map[string]any
	Targets []struct {
		Datasource                datasource
		RefID, Expr, LegendFormat string
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(read(t, "grafana.json")), &d))
	return d
}

// dashboardQueries returns what the dashboard asks when all limiters are chosen.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	variables := strings.NewReplacer("$__rate_interval", "5m", "$limiter", ".*")
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			query := variables.Replace(target.Expr)
			require.NotContains(t, query, "$", "a variable that nobody sets")
			queries = append(queries, query)
		}
	}
	return queries
}

func TestTheDashboardIsWhole(t *testing.T) {
	d := readDashboard(t)
	require.Regexp(t, `^[a-z-]{8,40}$`, d.UID)
	require.NotEmpty(t, d.Title)
	require.Greater(t, d.SchemaVersion, 36) // below, Grafana would bring it up to date
	require.Len(t, d.Templating.List, 2)
	require.Equal(t, []any{"datasource", "datasource", "prometheus"},
		[]any{d.Templating.List[0].Name, d.Templating.List[0].Type, d.Templating.List[0].Query})
	limiter := d.Templating.List[1]
	chosen := datasource{"prometheus", "${datasource}"}
	require.Equal(t, []any{"limiter", "query", chosen}, []any{limiter.Name, limiter.Type, limiter.Datasource})
	require.Equal(t, "label_values(weir_decisions_total, limiter)", limiter.Definition)
	require.Equal(t, limiter.Definition, limiter.Query.(map[string]any)["query"])
	require.True(t, limiter.Multi && limiter.IncludeAll)
	require.Equal(t, ".*", limiter.AllValue)

	ids, places := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		require.False(t, ids[p.ID], "two panels are %d", p.ID)
		ids[p.ID] = true
		require.Equal(t, "timeseries", p.Type)
		require.NotEmpty(t, p.Title)
		require.NotEmpty(t, p.Description)
		require.NotEmpty(t, p.FieldConfig.Defaults.Unit)
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24)
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				place := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				require.Empty(t, places[place], "two panels are at %v", place)
				places[place] = p.Title
			}
		}
		require.NotEmpty(t, p.Targets)
		refs := map[string]bool{}
		for _, target := range p.Targets {
			require.Equal(t, chosen, p.Datasource)
			require.Equal(t, chosen, target.Datasource)
			require.False(t, refs[target.RefID], target.RefID)
			refs[target.RefID] = true
			require.Contains(t, target.Expr, `limiter=~"$limiter"`)
			require.Contains(t, target.LegendFormat, "{{limiter}}")
		}
	}
}

// metricNames returns those that a Collector describes.
func metricNames(t *testing.T) (names []string) {
	t.Helper()
	descs := make(chan *prometheus.Desc, 100)
	promlimit.NewCollector().Describe(descs)
	close(descs)
	for desc := range descs {
		names = append(names, regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(desc.String())[1])
	}
	return slices.Compact(names)
}

func named(text string) []string {
	names := regexp.MustCompile(`\bweir_\w+`).FindAllString(text, -1)
	slices.Sort(names)
	return slices.Compact(names)
}

// Every metric is on the dashboard and in the documentation, and no other one.
func TestTheMetricsThatAreShownExist(t *testing.T) {
	names := metricNames(t)
	require.Len(t, names, 8)
	require.ElementsMatch(t, names, named(strings.Join(dashboardQueries(t), "\n")))
	require.ElementsMatch(t, names, named(read(t, "README.md")))
	require.ElementsMatch(t, names, named(read(t, "doc.go")))
	require.Subset(t, names, named(read(t, "alerts.yml")))
	require.Subset(t, names, named(read(t, "testdata/alerts_test.yml")))
}

func TestPromtoolFindsNothingWrongWithTheMetrics(t *testing.T) {
	limits := promlimit.NewCollector()
	limits.Add("api", weir.New(weir.TokenBucket(weir.PerSecond(1))))
	registry := prometheus.NewRegistry()
	registry.MustRegister(limits)
	scrape := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(scrape, httptest.NewRequest("GET", "/metrics", nil))
	require.ElementsMatch(t, metricNames(t), named(scrape.Body.String()))
	promtool(t, scrape.Body.String(), "check", "metrics")
}

func alertNames(t *testing.T) (names []string) {
	for _, found := range regexp.MustCompile(`(?m)- alert: (\w+)`).FindAllStringSubmatch(read(t, "alerts.yml"), -1) {
		names = append(names, found[1])
	}
	require.Len(t, names, 3)
	return names
}

// Each alert has a test that it comes, and one that it does not come before its time.
func TestTheAlertsComeWhenTheyShould(t *testing.T) {
	tests := read(t, filepath.Join("testdata", "alerts_test.yml"))
	for _, alert := range alertNames(t) {
		require.Equal(t, 1, strings.Count(tests, "alertname: "+alert+"\n        exp_alerts:\n"), alert)
		require.Greater(t, strings.Count(tests, "alertname: "+alert+"\n"), 1, alert)
	}
	promtool(t, "", "check", "rules", "alerts.yml")
	promtool(t, "", "test", "rules", filepath.Join("testdata", "alerts_test.yml"))
}
