package redislimit_test

import (
	"os"
	"testing"

	"github.com/goweir/weir/internal/leaks"
)

// TestMain runs one of many processes where it is asked to, and otherwise the tests:
// those end with as many goroutines as they began with.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		beAChild()
		return
	}
	os.Exit(leaks.Run(m))
}
