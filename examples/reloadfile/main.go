// Reloadfile is a web server whose limits come from a file. Here the file is rewritten again and
// again, well and badly, while users ask as fast as they can; and it is counted that each version's
// limit holds for each user, to the request, and that each request is answered once, as it was decided.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/goweir/weir/policyfile"
)

const (
	users    = 20
	askers   = 4 // goroutines
	every    = 20 * time.Millisecond
	patience = time.Minute // with what should come at once
)

// The versions of the file, and how many requests each user has been allowed when they have used up
// what it allows: what was used stays used, and nothing comes back while this runs.
var versions = []struct {
	text    string
	refused string // why; then the version before stays in force
	each    int64
}{
	{text: `{"api": "20/h"}`, each: 20},
	{text: `{"api": "sliding-window 30/h"}`, each: 30},
	{text: `{"api": "sliding-window 4`, refused: "ends in the middle", each: 30},
	{text: `{"api": "all(sliding-window 40/h, fixed-window 10000/d)"}`, each: 40},
	{text: `{"api": "50/fortnight"}`, refused: "fortnight", each: 40},
	{text: `{"api": "50/h"}`, each: 50},
	{text: `{"api": "10/h"}`, each: 50},
}

func main() {
	dir, err := os.MkdirTemp("", "reloadfile")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ok := run(os.Stdout, filepath.Join(dir, "limits.json"))
	os.RemoveAll(dir)
	if !ok {
		os.Exit(1)
	}
}

func run(w io.Writer, path string) (ok bool) {
	fail := func(err error) bool {
		fmt.Fprintln(w, err)
		return false
	}
	if err := rewrite(path, versions[0].text, 0); err != nil {
		return fail(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fail(err)
	}
	defer l.Close()
	book := &logbook{}
	s, err := start(l, path, every, slog.New(slog.NewTextHandler(book, &slog.HandlerOptions{ReplaceAttr: withoutTime})))
	if err != nil {
		return fail(err)
	}

	load := startLoad("http://" + l.Addr().String() + "/")
	var lines []string
	ok = true
	for i, v := range versions {
		if i > 0 && err == nil {
			err = rewrite(path, v.text, i)
		}
		inForce := func() bool {
			if v.refused != "" {
				return strings.Contains(book.String(), v.refused)
			}
			policies, err := policyfile.Parse([]byte(v.text))
			return err == nil && s.api.Policy().Equal(policies["api"])
		}
		// Whoever may have more has got it, and all have asked for more than that.
		ok = ok && err == nil && within(inForce) &&
			within(func() bool { return load.allowed.Load() >= users*v.each }) && load.another(users*10)
		line := fmt.Sprintf("%-60s each user was allowed %d", v.text, v.each)
		for user := range load.each {
			if n := load.each[user].Load(); n != v.each {
				line, ok = line+fmt.Sprintf(", but user %d %d", user, n), false
			}
		}
		lines = append(lines, line)
	}
	load.end()
	stats := s.api.Stats()
	if e := s.close(); err == nil {
		err = e
	}
	fmt.Fprint(w, book)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	if err != nil {
		return fail(err)
	}
	once := load.failed.Load() == 0 &&
		stats.Allowed == uint64(load.allowed.Load()) && stats.Denied == uint64(load.denied.Load()) &&
		load.sent.Load() == load.allowed.Load()+load.denied.Load()
	fmt.Fprintln(w, "each request answered once, as it was decided:", once)
	return ok && once
}

// rewrite replaces a file, by turns in each of the ways in which people do.
func rewrite(path, text string, way int) error {
	switch way % 3 {
	case 0: // truncates it and writes
		return os.WriteFile(path, []byte(text), 0o600)
	case 1: // the best one: it is the old file or the new one at any time
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	default:
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o600)
	}
}

// within reports whether something comes true.
func within(done func() bool) bool {
	for end := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// A logbook is a log in which one can look what was said.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logbook) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *logbook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
