package cases

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/schedule/overlay"

	// What the copy imports, so that go test knows that it depends on them.
	_ "github.com/goweir/weir/internal/schedule/standin/atomic"
	_ "github.com/goweir/weir/internal/schedule/standin/maphash"
	_ "github.com/goweir/weir/internal/schedule/standin/rand"
	_ "github.com/goweir/weir/internal/schedule/standin/sync"
)

var (
	large   = flag.Bool("large", false, "run the large cases, too")
	broken  = flag.Bool("broken", false, "see what is broken on purpose being found")
	figures = flag.Bool("figures", false, "print how many interleavings there were of which threads")
	runs    = flag.Int("runs", 0, "stop after so many runs of one case; 0: after all")
)

// onCopy is set for a test that was compiled with a copy of weir.
const onCopy = "WEIR_SCHEDULE_COPY"

const weirPath = "github.com/goweir/weir"

// small are the constants of weir's that a test with a few keys meets the limits of.
var small = map[string]string{"mostShards": "2", "clientsPerShard": "1", "maxStripes": "2"}

// TestMain compiles this test with a copy of weir that has points, and runs that.
// It does not under the race detector, which can find nothing: coroutines never run
// at the same time. Nor where int has 32 bits: the orders are the same there.
func TestMain(m *testing.M) {
	if raced || strconv.IntSize == 32 {
		fmt.Println("nothing to do here: run it without -race, where int has 64 bits")
		return
	}
	if os.Getenv(onCopy) != "" {
		// A run is many small objects, and soon over.
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(256 << 20)
		code := m.Run()
		if *figures {
			explored.print(os.Stdout)
		}
		os.Exit(code)
	}
	dir, err := os.MkdirTemp("", "weir-schedule-")
	if err == nil {
		err = runOnCopy(dir, os.Stdout, os.Args[1:])
		_ = os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runOnCopy(dir string, out io.Writer, args []string, changes ...overlay.Change) error {
	path, err := overlay.Overlay{Package: weirPath, Constants: small, Changes: changes}.Write(dir)
	if err != nil {
		return err
	}
	binary := filepath.Join(dir, "cases.exe")
	compile := exec.Command("go", "test", "-c", "-overlay", path, "-o", binary, ".")
	// A copy has no coverage to tell of.
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return strings.HasPrefix(arg, "-test.coverprofile") || strings.HasPrefix(arg, "-test.gocoverdir")
	})
	test := exec.Command(binary, args...)
	test.Env = append(os.Environ(), onCopy+"=1")
	for _, c := range []*exec.Cmd{compile, test} {
		c.Stdout, c.Stderr = out, out
		if err := c.Run(); err != nil {
			return fmt.Errorf("%s: %w", c.Args[0], err)
		}
	}
	return nil
}
