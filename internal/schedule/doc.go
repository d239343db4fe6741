// Package schedule runs goroutines in every order that can make a difference.
//
// A program is a few threads, which are coroutines: one runs at a time, from one
// point to the next. A point is where a thread is about to touch what it shares
// with others: an atomic word, a mutex, the time. Explore runs a program again and
// again, each time with another order of the points, until none is left.
//
// Two orders that differ only in steps that do not concern each other, as of two
// loads, or of words that are not the same, come to the same. Of such, Explore runs
// one: it looks for races in what it ran, and comes back to run them the other way
// round. This is dynamic partial order reduction by source sets, with sleep sets
// (Abdulla, Aronis, Jonsson and Sagonas, POPL 2014).
//
// What is assumed: memory is sequentially consistent, as Go's is for programs
// without data races (the race detector looks for those), and a thread does the same
// again if it sees the same.
//
// The code that is tested this way has no points in it, not even behind a build tag:
// hooks would stand in the way of who reads the hot paths, and one that was
// forgotten would be missed by nobody. Package overlay makes a copy of it in which
// those packages that have points stand for sync, sync/atomic and what else would
// make two runs differ; an atomic operation without one does not compile. Package
// cases has the tests of weir:
//
//	go test ./internal/schedule/...
package schedule
