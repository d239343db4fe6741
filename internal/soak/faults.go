package main

import (
	"fmt"
	"io"
	"sync"
)

// mostListed is how many faults of one kind of traffic are told: a limiter that
// is broken makes one with every call.
const mostListed = 3

// Faults are what did not hold. The zero value is none. It is safe for
// concurrent use.
type faults struct {
	mu     sync.Mutex
	listed []string
	of     map[string]int // by where they were found
	total  int
}

func (f *faults) add(where, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = make(map[string]int)
	}
	f.total++
	if f.of[where]++; f.of[where] <= mostListed {
		f.listed = append(f.listed, where+": "+fmt.Sprintf(format, args...))
	}
}

func (f *faults) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}

func (f *faults) print(w io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.total == 0 {
		fmt.Fprintln(w, "Every bound held, all Stats add up, and memory and goroutines are back where they were.")
		return
	}
	for _, fault := range f.listed {
		fmt.Fprintln(w, "FAULT:", fault)
	}
	if more := f.total - len(f.listed); more > 0 {
		fmt.Fprintf(w, "FAULT: and %d more\n", more)
	}
}
