package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// A swap is a function of package switches that is one operator, or another in the
// mutant.
type swap struct{ call, to string }

var swaps = map[token.Token]swap{
	token.LSS: {"MutantLess", "<="},
	token.LEQ: {"MutantAtMost", "<"},
	token.GTR: {"MutantMore", ">="},
	token.GEQ: {"MutantAtLeast", ">"},

	token.ADD:     {"MutantAdd", "-"},
	token.SUB:     {"MutantSub", "+"},
	token.MUL:     {"MutantMul", "/"},
	token.QUO:     {"MutantQuo", "*"},
	token.REM:     {"MutantRem", "*"},
	token.AND:     {"MutantAnd", "|"},
	token.OR:      {"MutantOr", "&"},
	token.XOR:     {"MutantXor", "&"},
	token.AND_NOT: {"MutantAndNot", "&"},
	token.SHL:     {"MutantShl", ">>"},
	token.SHR:     {"MutantShr", "<<"},
}

// expression mutates what is not constant, and reports whether to look into it.
func (w *walker) expression(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		w.binary(e)
	case *ast.UnaryExpr:
		w.unary(e)
	case *ast.ParenExpr:
		if w.settled[e] {
			w.settled[e.X] = true
		}
	case *ast.CompositeLit:
		w.literal(e)
	case *ast.CallExpr:
		return w.call(e)
	}
	return true
}

func (w *walker) binary(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LAND:
		w.force(e.X, true)
		w.force(e.Y, true)
		return
	case token.LOR:
		w.force(e.X, false)
		w.force(e.Y, false)
		return
	case token.EQL, token.NEQ:
		w.negate(e)
		return
	}
	operands := w.info.TypeOf(e.X)
	switch e.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		w.negate(e)
	default:
		operands = w.info.TypeOf(e)
	}
	if e.Op == token.ADD && hasInfo(operands, types.IsString) {
		return
	}
	s, ok := swaps[e.Op]
	if !ok {
		return
	}
	id := w.mutate(e, w.at(e.X)+" "+s.to+" "+w.at(e.Y))
	if id == 0 {
		return
	}
	w.insert(e, call(s.call, w.typeName(operands), id), ")")
	w.replace(e.OpPos, e.OpPos+token.Pos(len(e.Op.String())), ",")
}

func (w *walker) unary(e *ast.UnaryExpr) {
	switch e.Op {
	case token.NOT:
		w.negate(e)
	case token.SUB:
		w.wrap(e, w.at(e.X), "MutantNeg["+w.typeName(w.info.TypeOf(e))+"]")
	}
}

// force makes a condition always true or always false.
func (w *walker) force(e ast.Expr, value bool) {
	if w.info.Types[e].Value != nil {
		return // a constant is mutated as such
	}
	w.settled[e] = true
	if value {
		w.wrap(e, "true", "MutantTrue")
	} else {
		w.wrap(e, "false", "MutantFalse")
	}
}

func (w *walker) negate(e ast.Expr) {
	if !w.settled[e] {
		w.wrap(e, "!("+w.at(e)+")", "MutantNot")
	}
}

// constant mutates a number or a bool where it is used. Its declaration has to stay
// constant.
func (w *walker) constant(e ast.Expr, tv types.TypeAndValue, within ast.Node) {
	w.within = within
	defer func() { w.within = nil }()
	switch {
	case hasInfo(tv.Type, types.IsBoolean):
		w.wrap(e, "!"+w.at(e), "MutantNot")
	case isDuration(tv.Type) && tv.Value.String() != "0":
		w.wrap(e, "2 * "+w.at(e), "MutantTwice["+w.typeName(tv.Type)+"]")
	case hasInfo(tv.Type, types.IsInteger|types.IsFloat):
		w.wrap(e, w.at(e)+" + 1", "MutantNext["+w.typeName(types.Default(tv.Type))+"]")
	}
}

// literal keeps the keys of an array or a slice, which have to be constant.
func (w *walker) literal(e *ast.CompositeLit) {
	switch w.info.TypeOf(e).Underlying().(type) {
	case *types.Array, *types.Slice:
		for _, element := range e.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				w.skipped[pair.Key] = true
			}
		}
	}
}

func (w *walker) call(e *ast.CallExpr) bool {
	name, ok := ast.Unparen(e.Fun).(*ast.Ident)
	if !ok || !w.info.Types[e.Fun].IsBuiltin() {
		return true
	}
	switch name.Name {
	case "panic":
		return false
	case "make":
		w.sizes(e)
	case "min", "max":
		to, function := "max", "MutantMin"
		if name.Name == "max" {
			to, function = "min", "MutantMax"
		}
		if id := w.mutate(e, to+w.at(e)[len("min"):]); id > 0 {
			w.replace(e.Pos(), e.Lparen+1, call(function, w.typeName(w.info.TypeOf(e)), id))
		}
	}
	return true
}

// sizes skips a slice's capacity and a map's size, which only save work.
func (w *walker) sizes(e *ast.CallExpr) {
	hint := 2
	if _, ok := w.info.TypeOf(e.Args[0]).Underlying().(*types.Map); ok {
		hint = 1
	}
	for _, a := range e.Args[min(hint, len(e.Args)):] {
		w.skipped[a] = true
	}
}
