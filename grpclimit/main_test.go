package grpclimit_test

import (
	"os"
	"testing"

	"github.com/goweir/weir/internal/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }
