// Package leaks finds goroutines that tests leave behind.
package leaks

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"
)

// Run runs the tests, which end with as many goroutines as they began with: servers were
// stopped and connections closed, so all that are left are leaks. It returns the exit code.
func Run(m *testing.M) (code int) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt) // as fuzzing does, which leaves a goroutine that is os/signal's
	signal.Stop(interrupts)
	floor := runtime.NumGoroutine()
	code = m.Run()
	for deadline := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > floor; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "%d goroutines, and %d when the tests began:\n", runtime.NumGoroutine(), floor)
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			return 1
		}
	}
	return code
}
