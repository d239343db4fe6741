// Package replay decides about the requests of a log as a program with weir would
// have: the same limiters, on a clock that the log sets.
//
// A [Candidate] is what is tried, a [Decider] decides by it, and a [Tally] counts
// what became of whom.
package replay
