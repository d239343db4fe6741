package otellimit_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"
)

// TestMain has the tests end with as many goroutines as they began with.
func TestMain(m *testing.M) {
	floor := runtime.NumGoroutine()
	code := m.Run()
	for deadline := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > floor; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "%d goroutines, and %d when the tests began:\n", runtime.NumGoroutine(), floor)
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			code = 1
			break
		}
	}
	os.Exit(code)
}
