package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

func call(function, typeName string, id int) string {
	return fmt.Sprintf("%s[%s](%d, ", function, typeName, id)
}

func (w *walker) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.BlockStmt:
		w.removeEach(s.List)
	case *ast.CaseClause:
		w.removeEach(s.Body)
	case *ast.CommClause:
		w.removeEach(s.Body)
	case *ast.IfStmt:
		w.condition(s.Cond)
	case *ast.SwitchStmt:
		w.cases(s)
	case *ast.ForStmt:
		if s.Cond != nil { // a loop that does not end would only take time
			w.force(s.Cond, false)
		}
	case *ast.IncDecStmt:
		w.step(s)
	case *ast.AssignStmt:
		w.assign(s)
	case *ast.ReturnStmt:
		w.returned(s)
	}
}

func (w *walker) condition(e ast.Expr) {
	w.force(e, true)
	w.force(e, false)
}

func (w *walker) cases(s *ast.SwitchStmt) {
	if s.Tag != nil {
		return
	}
	for _, clause := range s.Body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			w.condition(e)
		}
	}
}

func (w *walker) removeEach(list []ast.Stmt) {
	for _, s := range list {
		if !w.removable(s) {
			continue
		}
		if id := w.mutate(s, "nothing"); id > 0 {
			w.insert(s, fmt.Sprintf("if !MutantOn(%d) { ", id), " }")
		}
	}
}

// hints are calls that make a difference in speed, or none.
var hints = []string{"Grow", "Gosched", "KeepAlive"}

func (w *walker) removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && !slices.ContainsFunc(s.Lhs, isBlank)
	case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt:
		return true
	case *ast.ExprStmt:
		c, ok := ast.Unparen(s.X).(*ast.CallExpr)
		if !ok {
			return true // a receive
		}
		switch f := ast.Unparen(c.Fun).(type) {
		case *ast.Ident: // a function that ends in a panic needs no return
			return f.Name != "panic" || !w.info.Types[f].IsBuiltin()
		case *ast.SelectorExpr:
			return !slices.Contains(hints, f.Sel.Name)
		}
		return true
	}
	return false
}

func isBlank(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "_"
}

func (w *walker) step(s *ast.IncDecStmt) {
	from, to := "+=", "--"
	if s.Tok == token.DEC {
		from, to = "-=", "++"
	}
	if id := w.mutate(s, w.at(s.X)+to); id > 0 {
		w.replace(s.TokPos, s.End(), from+" "+call("MutantNeg", w.typeName(w.info.TypeOf(s.X)), id)+"1)")
	}
}

func (w *walker) assign(s *ast.AssignStmt) {
	t := w.info.TypeOf(s.Lhs[0])
	to := map[token.Token]string{token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+="}[s.Tok]
	if to == "" || hasInfo(t, types.IsString) {
		return
	}
	if id := w.mutate(s, w.at(s.Lhs[0])+" "+to+" "+w.at(s.Rhs[0])); id > 0 {
		w.insert(s.Rhs[0], call("MutantNeg", w.typeName(t), id), ")")
	}
}

func (w *walker) returned(s *ast.ReturnStmt) {
	results := w.results[s]
	if len(s.Results) != results.Len() {
		return // none, or those of a call
	}
	failed := w.fails(s, results)
	for i, e := range s.Results {
		if failed && w.info.Types[e].Value != nil {
			w.skipped[e] = true
			continue
		}
		w.result(e, results.At(i).Type())
	}
}

// fails reports whether s returns an error, beside which a constant means nothing.
func (w *walker) fails(s *ast.ReturnStmt, results *types.Tuple) bool {
	last := results.Len() - 1
	return last > 0 && types.Identical(results.At(last).Type(), types.Universe.Lookup("error").Type()) &&
		!w.info.Types[s.Results[last]].IsNil()
}

func (w *walker) result(e ast.Expr, t types.Type) {
	tv := w.info.Types[e]
	switch {
	case tv.IsNil() || isZeroLiteral(e):
	case hasInfo(tv.Type, types.IsBoolean):
		if _, isBinary := ast.Unparen(e).(*ast.BinaryExpr); !isBinary && tv.Value == nil {
			w.negate(e)
			w.settled[ast.Unparen(e)] = true
		}
	case tv.Value != nil && (!hasInfo(tv.Type, types.IsString) || tv.Value.String() == `""`):
		// A constant is mutated as such.
	default:
		w.wrap(e, "zero value", "MutantZero["+w.typeName(t)+"]")
	}
}

func isZeroLiteral(e ast.Expr) bool {
	c, ok := e.(*ast.CompositeLit)
	return ok && len(c.Elts) == 0
}
