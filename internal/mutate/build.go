package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

//go:embed switches/switches.go
var switches string

// A build is a package with its mutants, as an overlay of the go command.
type build struct {
	*target
	work    string // a folder for what is compiled
	overlay string
	mutants []*mutant
	dropped map[string]map[int]bool // lines by file on which a mutant does not compile
}

// compile writes the mutants of those files that want to be mutated, and compiles them
// with the package's tests. A mutant that does not compile is left out.
func compile(t *target, work string, wanted func(*source) bool) (*build, error) {
	b := &build{target: t, work: work, dropped: make(map[string]map[int]bool)}
	for {
		if err := b.write(wanted); err != nil {
			return nil, err
		}
		err := b.test(t.dir, b.program())
		if err == nil {
			return b, nil
		}
		if !b.drop(err.Error()) {
			return nil, err
		}
	}
}

func (b *build) program() string { return filepath.Join(b.work, "test") }

func (b *build) write(wanted func(*source) bool) error {
	b.mutants = nil
	id := 0
	next := func() int { id++; return id }
	support := filepath.Join(b.work, "switches.go")
	replaced := map[string]string{filepath.Join(b.dir, "mutant_switches.go"): support}
	text := strings.Replace(switches, "\npackage switches\n", "\npackage "+b.types.Name()+"\n", 1) + aliases(b.types)
	if err := os.WriteFile(support, []byte(text), 0o600); err != nil {
		return err
	}
	for _, s := range b.files {
		if !wanted(s) {
			continue
		}
		mutants, text := walk(b.target, s, next, b.dropped[s.name])
		b.mutants = append(b.mutants, mutants...)
		copied := filepath.Join(b.work, filepath.Base(s.path))
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			return err
		}
		replaced[s.path] = copied
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return err
	}
	b.overlay = filepath.Join(b.work, "overlay.json")
	return os.WriteFile(b.overlay, overlay, 0o600)
}

// test compiles the tests in dir into a program.
func (b *build) test(dir, program string) error {
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay="+b.overlay, "-o", program, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.New(string(out))
	}
	return nil
}

var compileError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):.*\n`)

// drop drops the lines on which the compiler found fault, and reports whether there
// were any with mutants.
func (b *build) drop(output string) bool {
	some := false
	for _, match := range compileError.FindAllStringSubmatch(output, -1) {
		line, _ := strconv.Atoi(match[2])
		for _, m := range b.mutants {
			if filepath.Base(m.file) != filepath.Base(match[1]) || line < m.line || line > m.lastLine {
				continue
			}
			lines := b.dropped[m.file]
			if lines == nil {
				lines = make(map[int]bool)
				b.dropped[m.file] = lines
			}
			if !lines[m.line] {
				fmt.Fprintf(os.Stderr, "does not compile: %s:%d: %s", m.file, m.line, match[0])
			}
			lines[m.line], some = true, true
		}
	}
	return some
}
