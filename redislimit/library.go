package redislimit

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"strings"
)

//go:embed library.lua
var source string

// library is what decides. Its name tells its version: those of several versions of
// this package are there side by side.
var (
	library = newLibrary()
	giving  = &Library{library.Function, library.Source, true}
	taking  = &Library{library.Function + "_take", library.Source, false}
)

// A Library is a library of Redis functions, and one of these.
type Library struct {
	// Function is the function's name, for FCALL.
	Function string
	// Source is what FUNCTION LOAD reads.
	Source string
	// Once says that a call is not to be made again if its answer is lost: it gives
	// something back.
	Once bool
}

func newLibrary() *Library {
	sum := sha256.Sum256([]byte(source))
	name := "weir_" + hex.EncodeToString(sum[:6])
	code := strings.ReplaceAll(source, "@name@", name)
	return &Library{Function: name, Source: "#!lua name=" + name + "\n" + code}
}

// A Store calls functions where the states are: what a client library of Redis has to
// do for NewWith. It must be safe for concurrent use.
type Store interface {
	// Call calls a library's function, with FCALL, where the keys are, which are all in
	// one slot of a cluster. Where the server answers that it has no such function,
	// Call loads the library, with FUNCTION LOAD, and tries again. It returns once ctx
	// is done, if not earlier. It must not panic: goroutines of this package call it, too.
	Call(ctx context.Context, l *Library, keys, args []string) (Reply, error)
}

// A Colocator is a Store that says whether all keys are on one server: then it is also
// called with those of several clients, which need not be in one slot, and it fails as a
// whole. Of any other a part of the slots may fail.
type Colocator interface {
	Colocated() bool
}

// A Reply is what a function returns: a string, or an array of integers, and at its end
// a string or none.
type Reply struct {
	Numbers []int64
	Text    string
}

// NotFound reports whether an error of the server says that it has no such function.
func NotFound(err error) bool {
	return err != nil && strings.Contains(err.Error(), "Function not found")
}

// Exists reports whether an error of FUNCTION LOAD says that the library is there.
func Exists(err error) bool {
	return err != nil && strings.Contains(err.Error(), "already exists")
}
