package accesslog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)

func logLine(client int, at time.Time) string {
	return fmt.Sprintf("10.0.%d.%d - - [%s] \"GET /%d HTTP/1.1\" 200 5 \"-\" \"x\"\n", client>>8&255, client&255, at.Format("02/Jan/2006:15:04:05 -0700"), client)
}

// sampleLog returns a line of a client of its own for each second.
func sampleLog(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(logLine(i, noon.Add(time.Duration(i)*time.Second)))
	}
	return b.String()
}

func writeLog(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// readAll reads logs by address, as texts of "seconds since noon, address".
func readAll(t testing.TB, o Options, paths ...string) ([]string, Summary, error) {
	t.Helper()
	if o.Fields == nil {
		o.Fields = []Field{Address}
	}
	l, err := Open(paths, o)
	if err != nil {
		return nil, Summary{}, err
	}
	var got []string
	s, err := l.Read(context.Background(), func(rows []uint64) error {
		for ; len(rows) > 0; rows = rows[2:] {
			got = append(got, fmt.Sprintf("%d %s", (int64(rows[0])-noon.UnixNano())/1e9, l.Text(Key(rows[1]))))
		}
		return nil
	})
	return got, s, err
}

func TestReadHandsOnEveryLineInOrder(t *testing.T) {
	const n = 10_000 // several chunks
	got, s, err := readAll(t, Options{}, writeLog(t, "access.log", sampleLog(n)))
	require.NoError(t, err)
	require.Equal(t, Summary{Lines: n, First: noon.UnixNano(), Last: noon.Add((n - 1) * time.Second).UnixNano()}, s)
	require.Len(t, got, n)
	for i, row := range got {
		require.Equal(t, fmt.Sprintf("%d 10.0.%d.%d", i, i>>8&255, i&255), row)
	}
}

func TestReadPutsLateLinesInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var lines []string
	var want []string
	newest, late := 0, 0
	for i := range 10_000 {
		second := i/4 - random.IntN(min(i/4+1, 3600))
		if second < newest {
			late++
		}
		newest = max(newest, second)
		lines = append(lines, logLine(i, noon.Add(time.Duration(second)*time.Second)))
		want = append(want, fmt.Sprintf("%d 10.0.%d.%d", second, i>>8&255, i&255))
	}
	slices.SortStableFunc(want, func(a, b string) int {
		var x, y int
		fmt.Sscan(a, &x)
		fmt.Sscan(b, &y)
		return x - y
	})
	got, s, err := readAll(t, Options{}, writeLog(t, "access.log", strings.Join(lines, "")))
	require.NoError(t, err)
	require.Equal(t, late, s.Reordered)
	require.Equal(t, want, got)
}

func TestFilesAreReadAsOne(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSuffix(sampleLog(16_000), "\n"), "\n")
	even, odd := "", ""
	for i, line := range lines[:8_000] {
		if i%2 == 0 {
			even += line
		} else {
			odd += line
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, strings.Join(lines[8_000:], ""))
	require.NoError(t, z.Close())
	got, s, err := readAll(t, Options{}, writeLog(t, "later", packed.String()), writeLog(t, "empty", "\n"), writeLog(t, "odd", odd), writeLog(t, "even", even))
	require.NoError(t, err)
	require.Equal(t, 16_000, s.Lines)
	require.Zero(t, s.Reordered)
	for i, row := range got {
		require.Equal(t, fmt.Sprintf("%d 10.0.%d.%d", i, i>>8&255, i&255), row)
	}
}

func TestReadTellsFormats(t *testing.T) {
	for name, text := range map[string]string{
		"common": "cut line\n" + strings.ReplaceAll(sampleLog(30), ` "-" "x"`, ""),
		"crlf":   strings.ReplaceAll(sampleLog(30), "\n", "\r\n"),
		"json":   `{"ts":"2026-05-17T12:00:00Z","ip":"10.0.0.0"}` + "\n\n" + `{"ts":"2026-05-17T12:00:01Z","ip":"10.0.0.1"}`,
		"csv":    "ip,time\n10.0.0.0,2026-05-17T12:00:00Z\n10.0.0.1,2026-05-17 12:00:01\n",
	} {
		for _, stdin := range []bool{false, true} {
			path, o := writeLog(t, name, text), Options{Stdin: strings.NewReader(text)}
			if stdin {
				path = Stdin
			}
			got, _, err := readAll(t, o, path)
			require.NoError(t, err, name)
			require.Equal(t, []string{"0 10.0.0.0", "1 10.0.0.1"}, got[:2], name)
		}
	}
}

func TestLinesThatDoNotParseAreCounted(t *testing.T) {
	text := sampleLog(100) + "\nwhat?\n" + sampleLog(3)[:30] + "\n" + sampleLog(100)
	got, s, err := readAll(t, Options{}, writeLog(t, "access.log", text))
	require.NoError(t, err)
	require.Len(t, got, 200)
	require.Equal(t, 202, s.Lines)
	require.Equal(t, 2, s.Skipped)
	require.ErrorContains(t, s.FirstSkip, "access.log:102: it does not begin as ADDRESS IDENT USER [TIME]")

	bad := sampleLog(94) + strings.Repeat("what?\n", 6)
	_, _, err = readAll(t, Options{}, writeLog(t, "access.log", bad))
	require.ErrorContains(t, err, "access.log:95: ")
	require.ErrorContains(t, err, "so it is with 6 of 100 lines, more than 5 %: -lenient")
	require.ErrorAs(t, err, new(*InputError))
	got, _, err = readAll(t, Options{Lenient: true}, writeLog(t, "access.log", bad))
	require.NoError(t, err)
	require.Len(t, got, 94)
}

func TestWhatIsNoLogIsRefused(t *testing.T) {
	random := make([]byte, 1<<20)
	for i := range random {
		random[i] = byte(rand.IntN(256))
	}
	for name, test := range map[string]struct{ text, want string }{
		"empty":       {"", "empty: no lines"},
		"blank":       {"\n\n\n", "blank: no lines"},
		"random":      {string(random), "random:1: not an access log"},
		"letter":      {"Dear all,\nyours\n", "letter:1: not an access log: no line of the first 2 is in"},
		"zeros":       {strings.Repeat("\x00", 1<<20), "zeros:1: not an access log: its first 65536 bytes have no line end"},
		"untimed":     {`{"a":1}`, "untimed:1: no time: say with -names"},
		"addressless": {"time,b\n1646861401,2", "addressless:1: no column is the address"},
	} {
		_, _, err := readAll(t, Options{}, writeLog(t, name, test.text))
		require.ErrorAs(t, err, new(*InputError), name)
		require.ErrorContains(t, err, test.want, name)
	}
	_, _, err := readAll(t, Options{}, filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, _, err = readAll(t, Options{}, t.TempDir())
	require.ErrorContains(t, err, "is a directory")
	_, _, err = readAll(t, Options{}, writeLog(t, "cut.gz", "\x1f\x8b\x08\x00\x00"))
	require.ErrorContains(t, err, "cut.gz: unexpected EOF")
}

func TestALineThatIsTooLongIsRefusedWhereItIs(t *testing.T) {
	long := func() io.Reader { // 100 MB that nobody has to hold
		return io.MultiReader(strings.NewReader(sampleLog(2000)), io.LimitReader(letters{}, 100<<20), strings.NewReader("\n"+logLine(7, noon.Add(time.Hour))))
	}
	_, _, err := readAll(t, Options{Stdin: long()}, Stdin)
	require.ErrorContains(t, err, "(stdin):2001: a line of more than 256 KiB")
	require.ErrorAs(t, err, new(*InputError))
	got, s, err := readAll(t, Options{Stdin: long(), Lenient: true}, Stdin)
	require.NoError(t, err)
	require.Equal(t, 2002, s.Lines)
	require.Equal(t, 1, s.Skipped)
	require.Equal(t, "3600 10.0.0.7", got[len(got)-1])
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestALineThatIsTooLateIsRefusedWhereItIs(t *testing.T) {
	text := sampleLog(4000) + logLine(1, noon.AddDate(-1, 0, 0)) + sampleLog(4000)[399*80:]
	_, _, err := readAll(t, Options{}, writeLog(t, "access.log", text))
	require.ErrorContains(t, err, "access.log:4001: it was written at 17 May 2025 12:00:00, more than 1h0m0s before a line above it (17 May 2026 13:06:39)")
	require.ErrorAs(t, err, new(*InputError))
	got, s, err := readAll(t, Options{Lenient: true}, writeLog(t, "access.log", text))
	require.NoError(t, err)
	require.Equal(t, s.Lines-s.Skipped, len(got))
	require.Equal(t, noon.UnixNano(), s.First)
}

func TestReadGivesWhatItHasWhenItIsInterrupted(t *testing.T) {
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		fmt.Fprint(w, sampleLog(20_000))
		cancel()
		fmt.Fprint(w, sampleLog(40_000)[len(sampleLog(20_000)):])
		w.Close()
	}()
	l, err := Open([]string{Stdin}, Options{Fields: []Field{Address}, Stdin: r})
	require.NoError(t, err)
	rows := 0
	s, err := l.Read(ctx, func(r []uint64) error { rows += len(r) / 2; return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, s.Lines, rows)
	require.NotZero(t, rows)
	r.Close()
}

func TestReadPassesErrorsOn(t *testing.T) {
	full := errors.New("full")
	l, err := Open([]string{writeLog(t, "access.log", sampleLog(50_000))}, Options{Fields: []Field{Address}})
	require.NoError(t, err)
	_, err = l.Read(context.Background(), func([]uint64) error { return full })
	require.Equal(t, full, err)
}

func TestParsingALineDoesNotAllocate(t *testing.T) {
	text := sampleLog(1000) + strings.ReplaceAll(sampleLog(1000), "10.0.", "2001:db8::10.0.")
	o := &Options{Fields: []Field{Address, {kind: fieldPath}, {fieldHeader, "User-Agent"}}}
	k := &chunk{source: &source{name: "x", format: Combined}, data: []byte(text)}
	p := newLineParser(o, newTexts().hasher)
	p.parse(k)
	require.Equal(t, 2000, k.lines)
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() {
		k.parsed = parsed{rows: k.rows[:0], texts: k.texts[:0], letters: k.letters[:0]}
		p.parse(k)
	}), 2.0, "for 2000 lines")
	require.Zero(t, k.skipped)
}

func TestFrequentTextsAreKept(t *testing.T) {
	x := newTexts()
	for i := range 20 * mostTexts {
		text := fmt.Append(nil, i)
		x.add(x.hasher.textKey(1, text), text)
		if i%1000 == 0 {
			x.add(x.hasher.textKey(1, []byte("often")), []byte("often"))
		}
	}
	require.Equal(t, "often", x.text(x.hasher.textKey(1, []byte("often"))))
	require.LessOrEqual(t, len(x.kept), 2*mostTexts)
}

func BenchmarkRead(b *testing.B) {
	lines := sampleLog(100_000)
	path := writeLog(b, "access.log", lines)
	b.SetBytes(int64(len(lines)))
	for b.Loop() {
		l, err := Open([]string{path}, Options{Fields: []Field{Address}})
		require.NoError(b, err)
		s, err := l.Read(context.Background(), func([]uint64) error { return nil })
		require.NoError(b, err)
		require.Equal(b, 100_000, s.Lines)
	}
	b.ReportMetric(float64(b.N)*100_000/b.Elapsed().Seconds(), "lines/s")
}

func TestAnHourIsTheMostThatALineMayBeLateBy(t *testing.T) {
	log := func(late time.Duration) string {
		return writeLog(t, "access.log", logLine(1, noon)+logLine(2, noon.Add(time.Hour))+logLine(3, noon.Add(time.Hour-late)))
	}
	got, s, err := readAll(t, Options{}, log(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, s.Reordered)
	require.Equal(t, []string{"0 10.0.0.1", "0 10.0.0.3", "3600 10.0.0.2"}, got)
	_, _, err = readAll(t, Options{}, log(time.Hour+time.Second))
	require.ErrorContains(t, err, "access.log:3: it was written at 17 May 2026 11:59:59")
}

// Of files that overlap no more is read than has to be held.
func TestFilesThatOverlapAreReadSideBySide(t *testing.T) {
	l, err := Open([]string{writeLog(t, "a", sampleLog(10_000)), writeLog(t, "b", sampleLog(10_000))}, Options{})
	require.NoError(t, err)
	c := cutter{options: &l.options, pending: slices.Clone(l.sources)}
	defer c.close()
	read := map[*source]int{}
	for k := (&chunk{data: make([]byte, 0, chunkSize)}); c.next(k); k.reset() {
		read[k.source] += len(k.data)
		require.LessOrEqual(t, max(read[l.sources[0]]-read[l.sources[1]], read[l.sources[1]]-read[l.sources[0]]), 2*chunkSize)
	}
	require.Equal(t, read[l.sources[0]], read[l.sources[1]])
	require.Greater(t, read[l.sources[0]], 3*chunkSize/2)
}
