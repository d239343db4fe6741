// Mutate breaks weir on purpose, in thousands of small ways, and lists those that no
// test notices: a survivor is a missing test, or code that makes no difference.
//
//	go run -C internal/mutate . ../..
//
// runs every mutant of the packages that weir consists of: the root package, httplimit,
// policyfile and those of internal that they import. That takes hours; flags, before the
// folder, choose some of them, and -h lists the flags. It exits with 1 when a mutant
// survives.
//
// All mutants of a package are compiled at once (mutant schemata: Untch, Offutt and
// Harrold, ISSTA 1993): every place that is mutated asks at run time whether it is
// to be wrong. So a mutant costs no compilation, only the tests that come by its
// place, and those stop at the first failure. One that does not end in time is run
// again with four times as much, and then counts as killed. Package switches has what the places
// call. The mutated files are an overlay of the go command: nothing in the tree is
// written to.
//
// What is mutated:
//
//   - a < b to a <= b, and so for <=, > and >=;
//   - a condition, or a case of a switch without tag, to true and to false; an operand
//     of && to true, of || to false; any other comparison, !x or returned bool to its
//     negation. (That && is || needs no mutant: whoever notices that an operand makes
//     no difference also notices that.)
//   - + and -, * and /, % to *, & and |, ^ and &^ to &, << and >>, min and max, -x to x;
//   - x++ to x--, x += y to x -= y;
//   - a constant to the next number, a duration to twice as long, true to false;
//   - an assignment, a call, a send, a go or defer statement to nothing;
//   - a returned value to its type's zero value.
//
// What is not: what panics say, constants that are returned beside an error,
// capacities and size hints, and strings.
//
// A mutant that no test can notice is listed in equivalent.txt, with the reason. It is
// an error if that lists what is no mutant any more, and -doubt tells whether some test
// kills what it lists.
//
// The tests run in one process after the other, under a limit of the memory that it may
// take, for which a Unix shell is needed.
package main
