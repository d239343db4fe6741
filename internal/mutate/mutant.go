package main

import (
	"fmt"
	"go/ast"
	"strings"
)

// A mutant is one way to break a package.
type mutant struct {
	id       int    // from 1 up in its package
	file     string // relative to the module, with slashes
	line     int
	lastLine int
	function string // or the package-level variable
	from, to string // what stands there, and what the mutant has in its place

	outcome outcome
	killer  string // the test that failed first
}

// String names a mutant without saying its line, so that the name lasts. Of several
// that are alike in one function, all but the first have a number.
func (m *mutant) String() string {
	return fmt.Sprintf("%s %s: %s -> %s", m.file, m.function, m.from, m.to)
}

type outcome string

const (
	notRun     outcome = "not run"
	killed     outcome = "killed"
	timedOut   outcome = "timed out" // which counts as killed
	survived   outcome = "survived"
	unreached  outcome = "unreached" // survived, as no test comes by
	equivalent outcome = "equivalent"
)

func (m *mutant) dead() bool  { return m.outcome == killed || m.outcome == timedOut }
func (m *mutant) alive() bool { return m.outcome == survived || m.outcome == unreached }

func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver = t.X
		case *ast.IndexExpr:
			receiver = t.X
		case *ast.IndexListExpr:
			receiver = t.X
		case *ast.Ident:
			return t.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// maxQuoted bounds what a mutant's name quotes of the source.
const maxQuoted = 100

// quote returns source text as one short line.
func quote(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxQuoted {
		return string(runes[:maxQuoted]) + "…"
	}
	return string(runes)
}
