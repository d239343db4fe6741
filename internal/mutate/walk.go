package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
)

// A walker finds what to mutate in one file.
type walker struct {
	*target
	*source
	next    func() int // the next mutant's id
	dropped map[int]bool

	function string
	within   ast.Node                         // what a constant is part of, which names it better than its value
	results  map[*ast.ReturnStmt]*types.Tuple // what the function that it ends returns
	skipped  map[ast.Node]bool
	// settled are conditions that other mutants make true or false: whoever notices
	// those would notice the negation.
	settled map[ast.Expr]bool
	imports map[string]string // from path to the name that the mutated file gets for it
	names   map[string]int

	mutants []*mutant
	edits   []edit
}

// walk returns the mutants of a file and what to write into it. It leaves out what is
// on dropped lines.
func walk(t *target, s *source, next func() int, dropped map[int]bool) ([]*mutant, []byte) {
	w := &walker{
		target: t, source: s, next: next, dropped: dropped,
		results: make(map[*ast.ReturnStmt]*types.Tuple),
		skipped: make(map[ast.Node]bool),
		settled: make(map[ast.Expr]bool),
		imports: make(map[string]string),
		names:   make(map[string]int),
	}
	for _, d := range s.tree.Decls {
		ast.PreorderStack(d, nil, w.visit)
	}
	w.importAll()
	return w.mutants, rewrite(s.text, w.edits)
}

func (w *walker) visit(n ast.Node, around []ast.Node) bool {
	if w.skipped[n] {
		return false
	}
	if e, ok := n.(ast.Expr); ok {
		tv := w.info.Types[e]
		if tv.IsType() {
			return false
		}
		if tv.Value != nil {
			w.constant(e, tv, around[len(around)-1])
			return false
		}
	}
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.ValueSpec:
		if len(around) == 1 {
			w.function = n.Names[0].Name
		}
	case *ast.FuncDecl:
		w.function = functionName(n)
		if n.Body != nil {
			w.body(n.Body, w.info.Defs[n.Name].Type())
		}
	case *ast.FuncLit:
		w.body(n.Body, w.info.Types[n].Type)
	case ast.Stmt:
		w.statement(n)
	case ast.Expr:
		return w.expression(n)
	}
	return true
}

// body notes what the return statements of one function return, but not those of
// functions within it.
func (w *walker) body(b *ast.BlockStmt, signature types.Type) {
	ast.Inspect(b, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			w.results[n] = signature.(*types.Signature).Results()
		}
		return true
	})
}

// mutate returns the number of a new mutant in which n is to, or 0 if there is to be
// none.
func (w *walker) mutate(n ast.Node, to string) int {
	first, last := w.fset.Position(n.Pos()).Line, w.fset.Position(n.End()).Line
	if w.dropped[first] {
		return 0
	}
	m := &mutant{
		id: w.next(), file: w.name, line: first, lastLine: last,
		function: w.function, from: quote(w.at(n)), to: quote(to), outcome: notRun,
	}
	if w.within != nil {
		m.from += " in " + quote(w.at(w.within))
	}
	w.names[m.String()]++
	if same := w.names[m.String()]; same > 1 {
		m.to += " #" + strconv.Itoa(same)
	}
	w.mutants = append(w.mutants, m)
	return m.id
}

// wrap makes n an argument of a call of a function of package switches.
func (w *walker) wrap(n ast.Node, to, call string) {
	if id := w.mutate(n, to); id > 0 {
		w.insert(n, fmt.Sprintf("%s(%d, ", call, id), ")")
	}
}

func (w *walker) insert(n ast.Node, before, after string) {
	w.edits = append(w.edits,
		edit{offset: w.offset(n.Pos()), text: before},
		edit{offset: w.offset(n.End()), text: after, closes: true})
}

func (w *walker) replace(from, to token.Pos, text string) {
	w.edits = append(w.edits, edit{offset: w.offset(from), length: int(to - from), text: text})
}

func (w *walker) offset(p token.Pos) int { return w.fset.Position(p).Offset }

func (w *walker) at(n ast.Node) string { return string(w.text[w.offset(n.Pos()):w.offset(n.End())]) }
