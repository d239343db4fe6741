package policyfile_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir/policyfile"
)

// Whatever is wrong changes nothing and is logged once, and the file may get well again.
func TestWatch_LaterProblems(t *testing.T) {
	const good = `{"api": "1/s"}`
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		says  string
	}{
		"cut off":        {text(`{"api": "1/`), `FILE:1:12: it ends in the middle`},
		"emptied":        {text(""), "FILE:1:1: it is empty"},
		"invalid policy": {text("{\"api\": \"2/s\",\n\"login\": \"5/x\"}"), `FILE:2:10: policy "login": `},
		"too large":      {text(strings.Repeat(" ", 2<<20)), "FILE:1:1: it is larger than 1 MiB"},
		"binary":         {text("\x7fELF\x80"), "FILE:1:5: the byte 0x80 is not UTF-8"},
		"deleted":        {func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }, "no such file"},
		"a directory": {func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		}, "FILE: it is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := file(t, good)
				w := watch(t, path)
				w.applied("api=token-bucket 1/s")
				w.logged("policy applied")
				for range 2 { // the second time is news again
					c.spoil(t, path)
					time.Sleep(5 * every)
					w.applied()
					w.logged(`level=ERROR msg="policies not changed"`)

					require.NoError(t, os.RemoveAll(path))
					write(t, path, good)
					time.Sleep(5 * every)
					w.applied()
					w.logged(`level=INFO msg="policies up to date"`)
				}
				c.spoil(t, path)
				time.Sleep(every)
				w.logged(c.says)
				require.NoError(t, os.RemoveAll(path))
				write(t, path, `{"api": "2/s"}`)
				time.Sleep(every)
				w.applied("api=token-bucket 2/s")
				w.logged(`old="token-bucket 1/s" new="token-bucket 2/s"`, "policies up to date")
			})
		})
	}
}

func text(s string) func(*testing.T, string) {
	return func(t *testing.T, path string) { write(t, path, s) }
}

func TestWatch_LogsEachProblemOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "1/s"}`)
		w := watch(t, path)
		w.logged("policy applied")
		write(t, path, `{"api": 1}`)
		time.Sleep(5 * every)
		w.logged("1:9: policy")
		write(t, path, `{"api": 2}`) // another file, and wrong in the same way
		time.Sleep(5 * every)
		w.logged()
		write(t, path, `{"api": "1/s", "api": "2/s"}`)
		time.Sleep(5 * every)
		w.logged("1:16: policy \"api\" is given twice")
		write(t, path, `{"api": "2/s"}`)
		time.Sleep(5 * every)
		w.applied("api=token-bucket 1/s", "api=token-bucket 2/s")
	})
}

// A failed apply is tried again, and logged once.
func TestWatch_ApplyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "1/s"}`)
		w := watch(t, path)
		w.applied("api=token-bucket 1/s")
		w.logged("policy applied")

		w.fails("busy")
		write(t, path, `{"api": "2/s"}`)
		time.Sleep(3 * every)
		w.applied("api=token-bucket 2/s", "api=token-bucket 2/s", "api=token-bucket 2/s")
		w.logged(`level=ERROR msg="policies not changed" file=FILE error="policyfile: applying FILE: busy"`)
		w.fails("")
		time.Sleep(every)
		w.applied("api=token-bucket 2/s")
		w.logged(`old="token-bucket 1/s" new="token-bucket 2/s"`, "policies up to date")
		time.Sleep(3 * every)
		w.applied()
	})
}

func (w *watched) fails(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail = nil; why != "" {
		w.fail = errors.New(why)
	}
}

// An apply that fails may have done some of it. Going back to the last good version then is a change.
func TestWatch_ApplyFailsHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const old = `{"api": "1/s", "login": "1/m"}`
		path := file(t, old)
		w := watch(t, path)
		w.applied("api=token-bucket 1/s login=token-bucket 1/m")

		w.fails("busy")
		write(t, path, `{"api": "2/s", "login": "1/m", "more": "1/h"}`)
		time.Sleep(every)
		w.applied("api=token-bucket 2/s more=token-bucket 1/h")
		w.fails("")
		write(t, path, old)
		time.Sleep(every)
		w.applied("api=token-bucket 1/s")
		write(t, path, `{"api": "1/s", "login": "2/m"}`)
		time.Sleep(every)
		w.applied("login=token-bucket 2/m")

		// Nor does it help that the name is gone meanwhile.
		w.fails("busy")
		write(t, path, `{"api": "3/s", "login": "2/m"}`)
		time.Sleep(every)
		w.applied("api=token-bucket 3/s")
		w.fails("")
		write(t, path, `{"login": "2/m"}`)
		time.Sleep(every)
		w.applied("api=token-bucket 1/s")
	})
}

// Overwritten in place with parts of two versions, the file is a valid one of neither.
func TestWatch_OverwrittenInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "1111/s", "login": "1111/m"}`)
		hup := make(chan os.Signal)
		w := watch(t, path, policyfile.WithSignal(hup))
		w.applied("api=token-bucket 1111/s login=token-bucket 1111/m")

		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		require.NoError(t, err)
		defer f.Close()
		overwrite := func(part string, at int64) {
			_, err := f.WriteAt([]byte(part), at)
			require.NoError(t, err)
		}
		const pause = 49 * time.Millisecond
		overwrite("22", 9)
		hup <- syscall.SIGHUP
		time.Sleep(pause)
		overwrite("22", 11)
		time.Sleep(pause)
		overwrite("22", 28)
		time.Sleep(pause)
		overwrite("22", 30)
		w.applied("api=token-bucket 2222/s login=token-bucket 2222/m")
	})
}

// Two readings alike are not enough if somebody wrote between them: it was another version meanwhile,
// or more is to come.
func TestWatch_WrittenAgainAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "1/s"}`)
		hup := make(chan os.Signal)
		w := watch(t, path, policyfile.WithSignal(hup))
		w.applied("api=token-bucket 1/s")

		write(t, path, `{"api": "2/s"}`)
		hup <- syscall.SIGHUP
		time.Sleep(40 * time.Millisecond)
		require.NoError(t, os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)))
		time.Sleep(20 * time.Millisecond)
		write(t, path, `{"api": "3/s"}`)
		w.applied("api=token-bucket 3/s")
	})
}

// A file that never settles does not keep Watch from anything, and is logged once.
func TestWatch_NeverSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := file(t, `{"api": "1/s"}`)
		w := watch(t, path)
		w.applied("api=token-bucket 1/s")
		w.logged("policy applied")
		time.Sleep(10 * time.Millisecond) // never write at the instant of a reading
		for i := range 40 * 15 {          // seconds
			time.Sleep(25 * time.Millisecond)
			write(t, path, fmt.Sprintf(`{"api": "%d/s"}`, i+1))
		}
		time.Sleep(every)
		w.logged("FILE: it is being written again and again", `old="token-bucket 1/s" new="token-bucket 600/s"`, "policies up to date")
		w.applied("api=token-bucket 600/s")
	})
}
