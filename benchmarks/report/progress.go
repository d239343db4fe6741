package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress writes where a run is: on one line if that is a terminal, else a
// line for each section.
type progress struct {
	log      io.Writer
	terminal bool
	begin    time.Time
	now      string
}

func newProgress(log io.Writer) *progress {
	p := &progress{log: log, begin: time.Now()}
	if file, ok := log.(*os.File); ok {
		info, err := file.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) section(name string, i, of int) {
	p.now = fmt.Sprintf("[%2d/%d] %s", i, of, name)
	if !p.terminal {
		fmt.Fprintf(p.log, "%4.0f s %s\n", time.Since(p.begin).Seconds(), p.now)
	}
}

func (p *progress) step(what string) {
	if p.terminal {
		fmt.Fprintf(p.log, "\r\x1b[K%4.0f s %s: %s", time.Since(p.begin).Seconds(), p.now, what)
	}
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.log, "\r\x1b[K")
	}
}
