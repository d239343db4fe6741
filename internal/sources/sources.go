// Package sources keeps limiters by name, for packages that show what they count.
package sources

import (
	"fmt"
	"maps"
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/goweir/weir"
)

// A Source is a limiter that counts.
type Source interface{ Stats() weir.Stats }

// A Set is of limiters, each under a name. It is safe for concurrent use.
type Set struct {
	// Package is who keeps it: errors and panics begin with that.
	Package string
	// Nameless is why a limiter needs a name, or empty.
	Nameless string

	mu     sync.Mutex
	byName map[string]Source
}

// Add adds a limiter. It panics on what is a mistake in the program: if s is nil, and if
// the name is empty, not valid UTF-8, or that of another.
func (s *Set) Add(name string, source Source) {
	switch v := reflect.ValueOf(source); {
	case !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil():
		panic(fmt.Sprintf("%s: Add(%q) of a nil limiter", s.Package, name))
	case name == "":
		panic(s.Package + ": Add of a limiter without a name" + s.Nameless)
	case !utf8.ValidString(name):
		panic(fmt.Sprintf("%s: Add(%q): a name must be valid UTF-8", s.Package, name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.byName[name]; taken {
		panic(fmt.Sprintf("%s: Add(%q): another limiter has that name; Remove it first", s.Package, name))
	}
	if s.byName == nil {
		s.byName = make(map[string]Source)
	}
	s.byName[name] = source
}

// Remove removes a limiter, and reports whether it was there.
func (s *Set) Remove(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found := s.byName[name]
	delete(s.byName, name)
	return found
}

// Each calls f with each limiter's Stats, read once, or with an error that names the
// limiter whose Stats panicked: who asks may do so in a goroutine of its own, in which
// a panic would be the program's end.
func (s *Set) Each(f func(name string, stats weir.Stats, err error)) {
	s.mu.Lock()
	byName := maps.Clone(s.byName) // neither Stats nor f holds up Add
	s.mu.Unlock()
	for name, source := range byName {
		stats, err := read(source)
		if err != nil {
			err = fmt.Errorf("%s: Stats of %q: %w", s.Package, name, err)
		}
		f(name, stats, err)
	}
}

func read(s Source) (stats weir.Stats, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.Stats(), nil
}
