package redislimit_test

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"
)

// TestMain runs one of many processes where it is asked to, and otherwise the tests:
// those end with as many goroutines as they began with.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		beAChild()
		return
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt) // as fuzzing does, which leaves a goroutine that is os/signal's
	signal.Stop(interrupts)
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
