package main

import (
	"go/types"
	"regexp"
	"strconv"
	"strings"
)

// own stands before the names of the package's own types until alias replaces it.
const own = "§"

var ownName = regexp.MustCompile(own + `\.([\pL_][\pL\pN_]*)`)

// typeName writes a type in a way that no local name can shadow: the package's own
// types are aliases with a prefix, other packages get import names of our own.
func (w *walker) typeName(t types.Type) string {
	name := types.TypeString(t, func(p *types.Package) string {
		if p == w.types {
			return own
		}
		if w.imports[p.Path()] == "" {
			w.imports[p.Path()] = "mutant" + strconv.Itoa(len(w.imports))
		}
		return w.imports[p.Path()]
	})
	return ownName.ReplaceAllStringFunc(name, func(qualified string) string {
		name := strings.TrimPrefix(qualified, own+".")
		if aliased(w.types.Scope().Lookup(name)) {
			return aliasPrefix + name
		}
		return name
	})
}

const aliasPrefix = "mutantType_"

// aliased is false of types within functions, and of generic types.
func aliased(o types.Object) bool {
	if _, ok := o.(*types.TypeName); !ok {
		return false
	}
	switch t := o.Type().(type) {
	case *types.Named:
		return t.TypeParams().Len() == 0
	case *types.Alias:
		return t.TypeParams().Len() == 0
	}
	return true
}

// aliases declares what typeName calls a package's own types.
func aliases(p *types.Package) string {
	var b strings.Builder
	for _, name := range p.Scope().Names() {
		if aliased(p.Scope().Lookup(name)) {
			b.WriteString("type " + aliasPrefix + name + " = " + name + "\n")
		}
	}
	return b.String()
}

// importAll imports what typeName named, on the line of the package clause: the lines
// of the mutated file are those of the original.
func (w *walker) importAll() {
	for path, name := range w.imports {
		w.edits = append(w.edits, edit{
			offset: w.offset(w.tree.Name.End()),
			text:   "; import " + name + " " + strconv.Quote(path),
		})
	}
}

func isDuration(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Duration" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time"
}

func hasInfo(t types.Type, info types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&info != 0
}
