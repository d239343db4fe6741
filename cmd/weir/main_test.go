package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// weirWith runs the command with a standard input.
func weirWith(in io.Reader, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), args, streams{in, &stdout, &stderr})
	return code, stdout.String(), stderr.String()
}

func weirRun(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := weirWith(strings.NewReader(""), args...)
	require.Zero(t, code, errs)
	return out
}

// logOf returns a log of one client that asks once a second.
func logOf(n int) string {
	var b strings.Builder
	for i := range n {
		at := time.Date(2026, 5, 17, 12, 0, i, 0, time.UTC)
		fmt.Fprintf(&b, "10.0.0.1 - ann [%s] \"GET /a HTTP/1.1\" 200 5\n", at.Format("02/Jan/2006:15:04:05 -0700"))
	}
	return b.String()
}

func writeTemp(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestReplayAsJSON(t *testing.T) {
	log := writeTemp(t, "access.log", logOf(60)+"?\n")
	for _, dashes := range []string{"-", "--"} {
		code, out, errs := weirWith(strings.NewReader(logOf(60)+"?\n"), "replay", dashes+"policy", "6/m burst 2", dashes+"json", dashes+"policy=all(fixed-window 20/m, 1/s)", log, "-")
		require.Zero(t, code, errs)
		require.Equal(t, 1, strings.Count(out, "\n"))
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(out), &got))
		require.EqualValues(t, 122, got["lines"])
		require.EqualValues(t, 2, got["skipped"])
		policies := got["policies"].([]any)
		require.Len(t, policies, 2)
		for i, want := range []map[string]any{
			{"policy": "token-bucket 6/m burst 2", "requests": 120.0, "denied": 113.0, "rejection_rate": 100 * 113 / 120.0, "clients": 1.0, "clients_denied": 1.0},
			{"policy": "all(fixed-window 20/m, token-bucket 1/s)", "requests": 120.0, "denied": 100.0, "rejection_rate": 100 * 100 / 120.0, "clients": 1.0, "clients_denied": 1.0},
		} {
			for name, value := range want {
				require.Equal(t, value, policies[i].(map[string]any)[name], "%s of %d", name, i)
			}
		}
	}
}

func TestReplayByOtherKeys(t *testing.T) {
	log := writeTemp(t, "access.log", logOf(3)+strings.ReplaceAll(logOf(3), "ann", "-")+strings.ReplaceAll(logOf(3), "10.0.0.1", "10.0.0.2"))
	for policy, want := range map[string]policyReport{
		"1/h":                     {Key: "address", Denied: 7, Clients: 2, ClientsDenied: 2},
		"user: 1/h":               {Key: "user", Denied: 5, Clients: 1, ClientsDenied: 1, Unkeyed: 3},
		"path: 1/h":               {Key: "path", Denied: 8, Clients: 1, ClientsDenied: 1},
		"global: 2/h":             {Key: "address", Denied: 7, Clients: 2, ClientsDenied: 2},
		"address: 2/h; user: 1/h": {Key: "address", Denied: 7, Clients: 2, ClientsDenied: 2},
	} {
		var got report
		require.NoError(t, json.Unmarshal([]byte(weirRun(t, "replay", "-policy", policy, "-json", log)), &got))
		p := got.Policies[0]
		require.Equal(t, want, policyReport{Key: p.Key, Denied: p.Denied, Clients: p.Clients, ClientsDenied: p.ClientsDenied, Unkeyed: p.Unkeyed}, policy)
	}
}

func TestBadInputIsSaidAndWhereItIs(t *testing.T) {
	good := writeTemp(t, "good.log", logOf(10))
	year := strings.Replace(logOf(30), "2026:12:00:20", "2025:12:00:20", 1)
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no policy":         {[]string{"replay", good}, 2, "no policy: say which"},
		"a bad policy":      {[]string{"replay", "-policy", "token-bukket 1/s", good}, 2, `at 1: unknown algorithm "token-bukket": it is one of token-bucket`},
		"an invalid policy": {[]string{"replay", "-policy", "fixed-window 1/s burst 3", good}, 2, "a window admits its count"},
		"a bad key":         {[]string{"replay", "-key", "planet", "-policy", "1/s", good}, 2, `key "planet": it is one of`},
		"a key it lacks":    {[]string{"replay", "-key", "header:X", "-policy", "1/s", good}, 2, "good.log:1: key header:X: a line of the Combined format has"},
		"a bad flag":        {[]string{"replay", "-polizy", "1/s", good}, 2, "flag provided but not defined: -polizy"},
		"a bad format":      {[]string{"replay", "-format", "xml", "-policy", "1/s", good}, 2, `format "xml": it is one of`},
		"bad names":         {[]string{"replay", "-names", "when=ts", "-policy", "1/s", good}, 2, `names "when=ts"`},
		"a negative top":    {[]string{"compare", "-top", "-1", "-live", "1/s", "-candidate", "1/s", good}, 2, "-top -1"},
		"no command":        {[]string{"rerun"}, 2, `there is no command "rerun"`},
		"no file":           {[]string{"replay", "-policy", "1/s", "absent.log"}, 1, "absent.log: no such file"},
		"an empty file":     {[]string{"replay", "-policy", "1/s", writeTemp(t, "empty.log", "")}, 2, "empty.log: no lines"},
		"a binary file":     {[]string{"replay", "-policy", "1/s", writeTemp(t, "x.png", "\x89PNG\r\n\x1a\n\x00\x00")}, 2, "x.png:1: not an access log"},
		"a year back":       {[]string{"replay", "-policy", "1/s", writeTemp(t, "year.log", year)}, 2, "year.log:21: it was written at 17 May 2025 12:00:20, more than 1h0m0s before"},
		"half a policy":     {[]string{"explain", "all(10/s,"}, 2, "policy"},
		"two policies":      {[]string{"explain", "10/s", "20/s"}, 2, "explain takes one policy"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := weirWith(nil, test.args...)
			require.Equal(t, test.code, code, errs)
			require.Contains(t, errs, test.want)
			require.Equal(t, 1, strings.Count(errs, "\n"), "a sentence: %s", errs)
			require.Empty(t, out)
		})
	}
}

func TestAnInterruptionPrintsWhatWasRead(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	go func() {
		fmt.Fprint(w, logOf(20_000))
		cancel()
		fmt.Fprint(w, logOf(40_000)[len(logOf(20_000)):])
		w.Close()
	}()
	var out, errs bytes.Buffer
	require.Equal(t, 1, run(ctx, []string{"replay", "-policy", "1/m", "-json"}, streams{r, &out, &errs}))
	require.Contains(t, errs.String(), "interrupted")
	var got report
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.NotZero(t, got.Lines)
	require.EqualValues(t, got.Lines, got.Policies[0].Requests)
	r.Close()
}

func TestHelpTellsTheExitCodes(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"replay", "--help"}, {"explain", "-h"}, nil} {
		require.Contains(t, weirRun(t, args...), "the answer is no", args)
	}
}

func TestCompletionKnowsTheCommands(t *testing.T) {
	require.Contains(t, weirRun(t, "completion", "bash"), "weir")
	require.Contains(t, weirRun(t, "replay", "-p", "--generate-shell-completion"), "--policy")
}

func TestTextFromALogDoesNothingToATerminal(t *testing.T) {
	require.Equal(t, `"\x1b[31m"`, printable("\x1b[31m"))
	require.Equal(t, `"\u202eevil"`, printable("\u202eevil"))
	require.Equal(t, "grün", printable("grün"))
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		require.Equal(t, want, number(n))
	}
	for p, want := range map[float64]string{0: "0 %", 100: "100 %", 0.001: "< 0.01 %", 99.995: "> 99.99 %", 0.126: "0.13 %", 12.34: "12.3 %", 99.96: "99.96 %"} {
		require.Equal(t, want, percent(p))
	}
	require.Equal(t, "▂▅█ ", spark([]float64{1, 4, 8, 0}))
}

func TestAFileAppearsWholeOrNotAtAll(t *testing.T) {
	path := writeTemp(t, "report.html", "old")
	require.Error(t, writeFile(path, func(w io.Writer) error {
		fmt.Fprint(w, "half")
		return io.ErrShortWrite
	}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
	require.NoError(t, writeFile(path, func(w io.Writer) error { _, err := fmt.Fprint(w, "new"); return err }))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(text))
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestPicturesAreWrittenWholeOrNotAtAll(t *testing.T) {
	log, dir := writeTemp(t, "access.log", logOf(100)), t.TempDir()
	page, picture := filepath.Join(dir, "report.html"), filepath.Join(dir, "report.svg")
	for _, args := range [][]string{
		{"replay", "-policy", "1/parsec", "-html", page, "-svg", picture, log},
		{"replay", "-policy", "1/s", "-html", page, "-svg", picture, writeTemp(t, "bad.log", logOf(50)+strings.Repeat("x\n", 50))},
		{"replay", "-policy", "1/s", "-html", filepath.Join(dir, "absent", "x.html"), log},
	} {
		code, out, errs := weirWith(nil, args...)
		require.NotZero(t, code)
		require.Empty(t, out)
		require.NotEmpty(t, errs)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	weirRun(t, "replay", "-policy", "1/s", "-html", page, "-svg", picture, log)
	text, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "<svg ") && strings.HasSuffix(string(text), "</svg>\n"))
}

// BenchmarkReplay reads Combined lines of 10,000 clients, 200 a second, and replays them by one policy.
func BenchmarkReplay(b *testing.B) {
	const lines = 500_000
	path := filepath.Join(b.TempDir(), "access.log")
	f, err := os.Create(path)
	require.NoError(b, err)
	w := bufio.NewWriter(f)
	for i := range lines {
		client := i * 7919 % 10_000
		at := time.Date(2026, 5, 17, 0, 0, i/200, 0, time.UTC)
		fmt.Fprintf(w, "10.1.%d.%d - - [%s] \"GET /presentations/%d/images/dashboard.png?x=1 HTTP/1.1\" 200 171717 "+
			"\"http://example.com/presentations/%d/\" \"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_1) AppleWebKit/537.36\"\n",
			client>>8, client&255, at.Format("02/Jan/2006:15:04:05 -0700"), client, client)
	}
	require.NoError(b, w.Flush())
	require.NoError(b, f.Close())
	for b.Loop() {
		code, _, errs := weirWith(nil, "replay", "-policy", "token-bucket 1/s burst 3", path)
		require.Zero(b, code, errs)
	}
	b.ReportMetric(float64(b.N)*lines/b.Elapsed().Seconds(), "lines/s")
}
