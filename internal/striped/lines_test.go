package striped

import (
	"runtime"
	"testing"
)

// TestThereAreEightLinesForEachCore: rounded up to a power of two, at most 128, all
// of which a hash can name.
func TestThereAreEightLinesForEachCore(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for cores, want := range map[int]int{1: 8, 2: 16, 3: 32, 4: 32, 5: 64, 15: 128, 16: 128, 17: 128, 40: 128} {
		runtime.GOMAXPROCS(cores)
		s := New()
		if runtime.GOMAXPROCS(0) != cores {
			t.Fatalf("New changed GOMAXPROCS from %d to %d", cores, runtime.GOMAXPROCS(0))
		}
		if len(s.lines) != want {
			t.Errorf("%d lines for %d cores, not %d", len(s.lines), cores, want)
		}
		if last := ^uint64(0) >> s.shift; last != uint64(len(s.lines)-1) {
			t.Errorf("a hash names lines 0 to %d of %d", last, len(s.lines))
		}
	}
}
