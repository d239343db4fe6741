package policyfile_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
	"github.com/goweir/weir/policyfile"
)

func TestWatch_AppliesWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "10/s", "login": "5/10s"}`)
		w := watch(t, path)
		w.applied("api=token-bucket 10/s login=token-bucket 5/10s")
		w.logged(
			`level=INFO msg="policy applied" file=FILE name=api new="token-bucket 10/s"`,
			`level=INFO msg="policy applied" file=FILE name=login new="token-bucket 5/10s"`)
		time.Sleep(10 * every)
		w.applied()

		write(t, path, `{"api": "20/s", "login": "5/10s", "search": "1/s"}`)
		time.Sleep(every)
		w.applied("api=token-bucket 20/s search=token-bucket 1/s")
		w.logged(
			`name=api old="token-bucket 10/s" new="token-bucket 20/s"`,
			`name=search new="token-bucket 1/s"`)

		// Written in another way, it says the same.
		write(t, path, "{\n\"search\": \"1 / sec\",\n\"login\": \"token-bucket 5/10s\", \"api\": \"20/s burst 20\"\n}\n")
		time.Sleep(every)
		require.NoError(t, os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)))
		time.Sleep(every)
		w.applied()
		w.logged()

		// A name is a change too.
		write(t, path, `{"api": "20/s as \"calls\"", "login": "5/10s", "search": "1/s"}`)
		time.Sleep(every)
		w.applied(`api=token-bucket 20/s as "calls"`)
		w.logged(`old="token-bucket 20/s" new="token-bucket 20/s as "calls""`)
	})
}

func TestWatch_LooksAgainAfterEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "1/s"}`)
		w := watch(t, path)
		w.applied("api=token-bucket 1/s") // at 1 s
		write(t, path, `{"api": "2/s"}`)
		time.Sleep(every - 2*soon)
		w.applied() // at 10 s
		w.applied("api=token-bucket 2/s")
	})
}

func TestWatch_NamesThatGoAndComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := `{"api": "10/s", "login": "5/10s"}`
		path := file(t, both)
		w := watch(t, path)
		w.applied("api=token-bucket 10/s login=token-bucket 5/10s")
		w.logged("name=api", "name=login")

		write(t, path, `{"api": "10/s"}`)
		time.Sleep(3 * every)
		w.applied()
		w.logged(`level=WARN msg="policy no longer in the file, and kept" file=FILE name=login policy="token-bucket 5/10s"`)
		write(t, path, both)
		time.Sleep(every)
		w.applied()
		w.logged(`level=INFO msg="policy in the file again" file=FILE name=login policy="token-bucket 5/10s"`)

		write(t, path, `{}`)
		time.Sleep(every)
		w.applied()
		w.logged("kept", "kept")
		write(t, path, `{"login": "6/10s"}`)
		time.Sleep(every)
		w.applied("login=token-bucket 6/10s")
		w.logged(`name=login old="token-bucket 5/10s" new="token-bucket 6/10s"`, `again" file=FILE name=login policy="token-bucket 6/10s"`)
	})
}

func TestWatch_Signal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "1/s"}`)
		hup := make(chan os.Signal, 1)
		w := watch(t, path, policyfile.WithSignal(hup))
		w.applied("api=token-bucket 1/s")
		w.logged("policy applied")

		write(t, path, `{"api": "2/s"}`)
		hup <- syscall.SIGHUP
		w.applied("api=token-bucket 2/s")
		w.logged("policy applied", "policies up to date")
		hup <- syscall.SIGHUP
		w.applied()
		w.logged("policies up to date")

		// Whoever asks is answered, although it was said before.
		write(t, path, `{`)
		for range 2 {
			hup <- syscall.SIGHUP
			w.logged("level=ERROR")
		}
		close(hup)
		time.Sleep(2 * every)
		w.logged()
		write(t, path, `{"api": "3/s"}`)
		time.Sleep(every)
		w.applied("api=token-bucket 3/s")
	})
}

func TestWatch_FirstLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "5/s",}`)
		w := watch(t, path)
		require.EqualError(t, w.ended(), "policyfile: "+path+":1:15: invalid character '}' looking for beginning of object key string")
		w.applied()

		w = watch(t, filepath.Join(t.TempDir(), "limits.json"))
		require.ErrorIs(t, w.ended(), fs.ErrNotExist)
		w = watch(t, t.TempDir())
		require.ErrorContains(t, w.ended(), "directory")
		w.logged() // who returns an error does not log it as well

		full := errors.New("no api")
		err := policyfile.Watch(t.Context(), file(t, `{}`), every, func(map[string]weir.Policy) error { return full })
		require.ErrorIs(t, err, full)
		require.ErrorContains(t, err, "limits.json")
	})
}

// What Read returned is not applied again, and a file that is spoiled between the two ends nothing.
func TestWatch_Current(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "1/s", "login": "1/m"}`)
		policies, err := policyfile.Read(path)
		require.NoError(t, err)
		current := policyfile.WithCurrent(policies)
		clear(policies) // it was copied

		w := watch(t, path, current)
		time.Sleep(every)
		w.applied()
		w.logged()
		w.stop()
		require.NoError(t, w.ended())

		require.NoError(t, os.Remove(path))
		w = watch(t, path, current)
		w.logged("no such file")
		write(t, path, `{"api": "2/s"}`)
		time.Sleep(every)
		w.applied("api=token-bucket 2/s")
		w.logged(`name=api old="token-bucket 1/s" new="token-bucket 2/s"`, "kept", "up to date")

		w = watch(t, path, current) // which is as it was
		w.applied("api=token-bucket 2/s")
		w = watch(t, path, policyfile.WithCurrent(nil))
		w.applied("api=token-bucket 2/s")
		w = watch(t, file(t, "{}"), policyfile.WithCurrent(nil))
		w.applied()
	})
}

// A file without policies is applied once, so that apply can say what it needs.
func TestWatch_FirstVersionWithoutPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{}`)
		w := watch(t, path)
		w.applied("")
		write(t, path, `{ }`)
		time.Sleep(every)
		w.applied()
		write(t, path, `{"api": "1/s"}`)
		time.Sleep(every)
		w.applied("api=token-bucket 1/s")
	})
}

func TestWatch_Done(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "1/s"}`)
		w := watch(t, path)
		w.applied("api=token-bucket 1/s")
		w.stop()
		require.NoError(t, w.ended())

		// In the middle of the first look.
		w = watch(t, path)
		synctest.Wait()
		w.stop()
		require.ErrorIs(t, w.ended(), context.Canceled)
		w.applied()

		// In the middle of a later one.
		hup := make(chan os.Signal, 1)
		w = watch(t, path, policyfile.WithSignal(hup))
		w.applied("api=token-bucket 1/s")
		write(t, path, `{"api": "2/s"}`)
		hup <- syscall.SIGHUP
		synctest.Wait()
		w.stop()
		require.NoError(t, w.ended())
		w.applied()
		w.logged("1/s")

		// By apply itself, which did what it was asked.
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, policyfile.Watch(ctx, path, every, func(map[string]weir.Policy) error { cancel(); return nil },
			policyfile.WithLogger(slog.New(slog.DiscardHandler))))
		// Before it began.
		require.ErrorIs(t, policyfile.Watch(ctx, path, every, w.apply), context.Canceled)
		w.applied()
	})
}

func TestWatch_Arguments(t *testing.T) {
	apply := func(map[string]weir.Policy) error { return errors.New("applied") }
	for _, every := range []time.Duration{0, -time.Second} {
		err := policyfile.Watch(t.Context(), "limits.json", every, apply)
		require.EqualError(t, err, "policyfile: Watch limits.json every "+every.String()+": it must be positive")
	}
	require.ErrorContains(t, policyfile.Watch(t.Context(), "limits.json", every, nil), "nil apply")
	require.PanicsWithValue(t, "policyfile: a nil Option", func() {
		_ = policyfile.Watch(t.Context(), "limits.json", every, apply, nil)
	})
	require.Panics(t, func() { policyfile.WithSignal(nil) })
	require.Panics(t, func() { policyfile.WithLogger(nil) })
}

func TestWatch_DefaultLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{t: t, path: file(t, `{"api": "1/s"}`)}
		before := slog.Default()
		defer slog.SetDefault(before)
		slog.SetDefault(logger(w))

		ctx, cancel := context.WithTimeout(t.Context(), every/2)
		defer cancel()
		require.NoError(t, policyfile.Watch(ctx, w.path, every, w.apply))
		w.logged("policy applied")
	})
}
