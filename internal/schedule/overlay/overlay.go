// Package overlay makes copies of a module's packages in which other packages
// stand for those by which threads meet, and has the go command compile them in
// place of what is there.
//
// What is changed stays on its line. What a copy uses that has no stand-in does
// not compile, so no point is forgotten.
package overlay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const home = "github.com/goweir/weir/internal/schedule"

// standIns are the packages that are imported in place of others.
var standIns = map[string]string{
	"sync":         home + "/standin/sync",
	"sync/atomic":  home + "/standin/atomic",
	"hash/maphash": home + "/standin/maphash",
	"math/rand/v2": home + "/standin/rand",
}

// An Overlay says what to copy, and what else to change.
type Overlay struct {
	Package   string            // with all packages of its module that it imports
	Constants map[string]string // that have other values in the copies
	Changes   []Change
}

// A Change is of a text that stands in the copies just once.
type Change struct{ Old, New string }

// Write makes the copies in a directory, and returns the file to pass to the go
// command as -overlay.
func (o Overlay) Write(dir string) (path string, err error) {
	sources, err := list(o.Package)
	if err != nil {
		return "", err
	}
	changed, constants := make([]int, len(o.Changes)), make(map[string]bool)
	replace := make(map[string]string)
	for i, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			return "", err
		}
		for i, c := range o.Changes {
			changed[i] += bytes.Count(text, []byte(c.Old))
			text = bytes.ReplaceAll(text, []byte(c.Old), []byte(c.New))
		}
		if text, err = o.rewrite(source, text, constants); err != nil {
			return "", err
		}
		replace[source] = filepath.Join(dir, fmt.Sprintf("%d_%s", i, filepath.Base(source)))
		if err := os.WriteFile(replace[source], text, 0o600); err != nil {
			return "", err
		}
	}
	for i, c := range o.Changes {
		if changed[i] != 1 {
			return "", fmt.Errorf("overlay: %d times in %s, not once: %s", changed[i], o.Package, c.Old)
		}
	}
	for name := range o.Constants {
		if !constants[name] {
			return "", fmt.Errorf("overlay: no constant %s in %s", name, o.Package)
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, data, 0o600)
}

// rewrite returns the copy of a file, and notes which constants are in it.
func (o Overlay) rewrite(name string, text []byte, constants map[string]bool) ([]byte, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &file{File: parsed, text: text, set: set}
	f.imports()
	f.constants(o.Constants, constants)
	if err := f.statements(); err != nil {
		return nil, err
	}
	return f.bytes(), nil
}

// list returns the files of a package and of those of its module that it imports.
func list(pkg string) (files []string, err error) {
	const format = `{{if and .Module .Module.Main}}{{range .GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}`
	out, err := exec.Command("go", "list", "-deps", "-f", format, pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("overlay: go list %s: %w", pkg, err)
	}
	return strings.Fields(string(out)), nil
}

// A file is a source with what is to be changed of it.
type file struct {
	*ast.File
	text  []byte
	set   *token.FileSet
	edits []edit
}

type edit struct {
	from, to int
	text     string
}

func (f *file) at(p token.Pos) int { return f.set.Position(p).Offset }

func (f *file) source(n ast.Node) string { return string(f.text[f.at(n.Pos()):f.at(n.End())]) }

func (f *file) edit(n ast.Node, text string) {
	f.edits = append(f.edits, edit{f.at(n.Pos()), f.at(n.End()), text})
}

// imports has the stand-ins imported.
func (f *file) imports() {
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if standIn, ok := standIns[path]; ok {
			f.edit(spec.Path, strconv.Quote(standIn))
		}
	}
}

// statements has package schedule do what no import does: begin a goroutine, tell
// the time, and tell stacks apart by their addresses.
func (f *file) statements() (err error) {
	before := len(f.edits)
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if len(n.Call.Args) > 0 {
				err = fmt.Errorf("overlay: %v: arguments of a go statement", f.set.Position(n.Pos()))
			}
			f.edit(n, "schedule.Go("+f.source(n.Call.Fun)+")")
		case *ast.CallExpr:
			switch name := f.source(n.Fun); {
			case name == "time.Since" || name == "time.Now":
				f.edit(n.Fun, "schedule."+strings.TrimPrefix(name, "time."))
			case name == "uintptr" && strings.HasPrefix(f.source(n.Args[0]), "unsafe.Pointer("):
				f.edit(n.Fun, "schedule.Address")
			}
		}
		return true
	})
	if at := f.at(f.Name.End()); len(f.edits) > before {
		f.edits = append(f.edits, edit{at, at, `; import "` + home + `"`})
	}
	return err
}

// constants gives constants other values, and notes which there are.
func (f *file) constants(values map[string]string, found map[string]bool) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			s := s.(*ast.ValueSpec)
			if value, ok := values[s.Names[0].Name]; ok && len(s.Values) == 1 {
				found[s.Names[0].Name] = true
				f.edit(s.Values[0], value)
			}
		}
	}
}

// bytes returns the copy.
func (f *file) bytes() []byte {
	slices.SortFunc(f.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var text []byte
	at := 0
	for _, e := range f.edits {
		text = append(append(text, f.text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(text, f.text[at:]...)
}
