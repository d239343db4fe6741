package policyfile_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
	"github.com/goweir/weir/policyfile"
)

// versionText returns the file of a version. All of the same padding are of the same length, so that one
// written over another in place leaves nothing of it.
func versionText(i, padding int) string {
	return fmt.Sprintf(`{"api": "%[1]d/s as \"v%[1]d\"",%[2]*[3]s "login": "all(%[1]d/h, sliding-window %[1]d/m)"}`,
		1000+i, padding, "")
}

func versionPolicies(i int) map[string]weir.Policy {
	n := 1000 + i
	return map[string]weir.Policy{
		"api":   weir.TokenBucket(weir.PerSecond(n)).Named(fmt.Sprintf("v%d", n)),
		"login": weir.All(weir.TokenBucket(weir.PerHour(n)), weir.SlidingWindow(weir.PerMinute(n))),
	}
}

// A scribbler writes versions in ways that are no good, and always ends with a whole one.
type scribbler struct {
	t    *testing.T
	r    *rand.Rand
	path string
}

var ways = map[string]func(s *scribbler, text string){
	"rewrites": func(s *scribbler, text string) { write(s.t, s.path, text) },
	"truncates, and writes in pieces": func(s *scribbler, text string) {
		f, err := os.Create(s.path)
		require.NoError(s.t, err)
		defer f.Close()
		for len(text) > 0 {
			n := 1 + s.r.IntN(len(text))
			_, err = io.WriteString(f, text[:n])
			require.NoError(s.t, err)
			text = text[n:]
			time.Sleep(time.Duration(s.r.IntN(200)) * time.Microsecond)
		}
	},
	"overwrites in place": func(s *scribbler, text string) {
		f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE, 0o600)
		require.NoError(s.t, err)
		defer f.Close()
		info, err := f.Stat()
		require.NoError(s.t, err)
		if info.Size() != int64(len(text)) {
			require.NoError(s.t, f.Truncate(0)) // or more than text would remain
		}
		_, err = f.WriteAt([]byte(text), 0)
		require.NoError(s.t, err)
	},
	"renames over": func(s *scribbler, text string) {
		write(s.t, s.path+".new", text)
		require.NoError(s.t, os.Rename(s.path+".new", s.path))
	},
	"deletes and restores": func(s *scribbler, text string) {
		require.NoError(s.t, os.Remove(s.path))
		write(s.t, s.path, text)
	},
	"moves away and writes anew": func(s *scribbler, text string) {
		require.NoError(s.t, os.Rename(s.path, s.path+"~"))
		write(s.t, s.path, text)
	},
	"has a directory there": func(s *scribbler, text string) {
		require.NoError(s.t, os.Remove(s.path))
		require.NoError(s.t, os.Mkdir(s.path, 0o700))
		require.NoError(s.t, os.Remove(s.path))
		write(s.t, s.path, text)
	},
	"makes a mistake first": func(s *scribbler, text string) {
		write(s.t, s.path, strings.Replace(text, "window", "vvindow", 1))
		write(s.t, s.path, strings.Replace(text, `"login"`, `"api"`, 1))
		write(s.t, s.path, text+"}")
		write(s.t, s.path, text)
	},
}

// Whatever is done to the file, what is in force is one of its versions, whole; in the end the last.
func TestWatch_BesideAWriter(t *testing.T) {
	const versions = 1000
	const waits = 10 // for this many versions the writer waits until they are applied
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	names := slices.Sorted(maps.Keys(ways))
	s := &scribbler{t: t, r: rand.New(rand.NewPCG(seed, 0)), path: file(t, versionText(0, 0))}

	applied := make(chan int, versions+1) // never full: a version is applied once
	inForce := map[string]weir.Policy{}
	apply := func(changed map[string]weir.Policy) error {
		maps.Copy(inForce, changed)
		for i := range versions + 1 {
			if maps.EqualFunc(inForce, versionPolicies(i), weir.Policy.Equal) {
				applied <- i
				return nil
			}
		}
		t.Errorf("no version, and in force: %v", inForce)
		applied <- -1
		return nil
	}
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() {
		watched <- policyfile.Watch(ctx, s.path, time.Millisecond, apply, policyfile.WithLogger(slog.New(slog.DiscardHandler)))
	}()
	last := -1
	appliedNext := func() int {
		select {
		case i := <-applied:
			require.Greater(t, i, last, "a version came back")
			return i
		case err := <-watched:
			require.Fail(t, "Watch ended", "%v", err)
			return 0
		}
	}

	last = appliedNext()
	for i := 1; i <= versions; i++ {
		padding := 0
		if s.r.IntN(4) == 0 {
			padding = 10_000 // several pages
		}
		ways[names[s.r.IntN(len(names))]](s, versionText(i, padding))
		if i%(versions/waits) == 0 {
			for last != i {
				last = appliedNext()
			}
		}
	}
	stop()
	require.NoError(t, <-watched)
	require.Empty(t, applied)
}
