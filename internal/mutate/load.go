package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// A source is a file of a package under mutation.
type source struct {
	path string // absolute
	name string // relative to the module, with slashes
	text []byte
	tree *ast.File
}

// A target is a package under mutation, parsed and type-checked without its tests.
type target struct {
	importPath string
	dir        string
	fset       *token.FileSet
	files      []*source
	types      *types.Package
	info       *types.Info
}

type listed struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Export     string
	DepOnly    bool
	Module     *struct{ Path, Dir string }
}

// list asks the go command, in the module at root, for packages and what they import.
func list(root string, patterns []string) ([]listed, error) {
	args := append([]string{"list", "-deps", "-export", "-json=ImportPath,Name,Dir,GoFiles,Export,DepOnly,Module"}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", root, err)
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// load returns the packages that patterns match, or, without any, those of the module
// at root that its users get: the root package, httplimit, policyfile and what these
// import.
func load(root string, patterns []string) ([]*target, error) {
	whole := len(patterns) == 0
	if whole {
		patterns = []string{".", "./httplimit", "./policyfile"}
	}
	packages, err := list(root, patterns)
	if err != nil {
		return nil, err
	}
	exports := make(map[string]string)
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	var targets []*target
	for _, p := range packages {
		if p.Module == nil || p.Module.Dir != root || (p.DepOnly && !whole) {
			continue
		}
		t, err := check(root, p, open)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}

func check(root string, p listed, open importer.Lookup) (*target, error) {
	t := &target{importPath: p.ImportPath, dir: p.Dir, fset: token.NewFileSet()}
	var trees []*ast.File
	for _, base := range p.GoFiles {
		path := filepath.Join(p.Dir, base)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(t.fset, path, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		t.files = append(t.files, &source{path, filepath.ToSlash(name), text, tree})
		trees = append(trees, tree)
	}
	t.info = &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue),
		Defs:  make(map[*ast.Ident]types.Object),
		Uses:  make(map[*ast.Ident]types.Object),
	}
	config := types.Config{Importer: importer.ForCompiler(t.fset, "gc", open)}
	var err error
	t.types, err = config.Check(p.ImportPath, t.fset, trees, t.info)
	return t, err
}
