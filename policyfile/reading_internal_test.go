package policyfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

func written(t *testing.T, name, text string, at time.Time) fs.FileInfo {
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	require.NoError(t, os.Chtimes(name, at, at))
	info, err := os.Stat(name)
	require.NoError(t, err)
	return info
}

// TestAFileIsUntouchedIfNothingOfItHasChanged: not its content, size, time or the file itself.
func TestAFileIsUntouchedIfNothingOfItHasChanged(t *testing.T) {
	dir, at := t.TempDir(), time.Unix(1e9, 0)
	one, other := filepath.Join(dir, "one"), filepath.Join(dir, "other")
	was := reading{data: []byte("text"), info: written(t, one, "text", at)}
	require.True(t, was.untouched(was))
	for what, now := range map[string]reading{
		"content":       {data: []byte("Text"), info: was.info},
		"size":          {data: was.data, info: written(t, one, "text and more", at)},
		"time":          {data: was.data, info: written(t, one, "text", at.Add(1))},
		"file":          {data: was.data, info: written(t, other, "text", at)},
		"now a problem": {err: fs.ErrNotExist},
	} {
		require.False(t, now.untouched(was), what)
		require.False(t, was.untouched(now), what)
	}
	gone := reading{err: fs.ErrNotExist}
	require.True(t, gone.untouched(reading{err: fmt.Errorf("%w", fs.ErrNotExist)}))
	require.False(t, gone.untouched(reading{err: fs.ErrPermission}))
	require.False(t, gone.sees(reading{err: errors.New("another")}))
}

// TestReadLooksTwice: a file that is well, after it has settled. What is not there is told at once.
func TestReadLooksTwice(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policies.json")
	written(t, name, `{"api": "1/s"}`, time.Unix(1e9, 0))
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := Read(name)
		require.NoError(t, err)
		require.Equal(t, settling, time.Since(start))

		start = time.Now()
		_, err = Read(name + ".not")
		require.ErrorIs(t, err, fs.ErrNotExist)
		nothing := func(map[string]weir.Policy) error { return nil }
		require.ErrorIs(t, Watch(t.Context(), name+".not", time.Second, nothing), fs.ErrNotExist)
		require.Zero(t, time.Since(start))
	})
}

// TestWhatWasJudgedIsNotReadTwice: a look at a file that says the same takes no time.
func TestWhatWasJudgedIsNotReadTwice(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policies.json")
	written(t, name, "{}", time.Unix(1e9, 0))
	synctest.Test(t, func(t *testing.T) {
		nothing := func(map[string]weir.Policy) error { return nil }
		w := &watcher{path: name, apply: nothing, log: slog.New(slog.DiscardHandler)}
		require.NoError(t, w.first(t.Context()))
		start := time.Now()
		w.look(t.Context(), true)
		require.Zero(t, time.Since(start))
	})
}

// TestASleepTellsThatItsContextIsDone: even when its time has come as well.
func TestASleepTellsThatItsContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		require.ErrorIs(t, sleep(ctx, 0), context.Canceled)
	}
}

// TestAFileThatDoesNotSettleIsGivenUpAfterASecond: it changes between any two readings.
func TestAFileThatDoesNotSettleIsGivenUpAfterASecond(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policies.json")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		written(t, name, "0", time.Unix(1e9, 0))
		go func() {
			for i := 1; sleep(ctx, settling/2) == nil; i++ {
				os.WriteFile(name, []byte(fmt.Sprint(i)), 0o600)
			}
		}()
		start := time.Now()
		require.ErrorIs(t, readOnce(name).settled(ctx).err, errRestless)
		require.Equal(t, time.Second, time.Since(start))
		cancel()
		synctest.Wait()
	})
}

// TestWatchLooksAsOftenAsItIsTold: a nanosecond is often, and allowed.
func TestWatchLooksAsOftenAsItIsTold(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policies.json")
	written(t, name, `{"api": "1/s"}`, time.Unix(1e9, 0))
	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, Watch(ctx, name, 1, func(map[string]weir.Policy) error { cancel(); return nil }))
}
