// Package cases has no code: its tests run what weir does beside each other, in all
// orders of the steps that can make a difference. What is seen must be what could be
// seen of the same operations one after the other: weir is linearizable. That is
// checked from states in which a table grows, is swept or is full, in which somebody
// waits, and beside SetPolicy.
//
//	go test                                  # two operations, and some of three
//	go test -v -figures                      # and a table of how many interleavings those are
//	go test -v -run Broken -broken           # all that is broken on purpose is found
//	go test -large -timeout 0                # more threads, in more states
//
// They run on a copy of weir that has points, which TestMain makes; see package
// overlay.
package cases
