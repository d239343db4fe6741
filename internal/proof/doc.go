// Package proof has no code: its tests run random programs on weir and on its
// model, github.com/goweir/weir/internal/model, and hold every answer of the one
// against that of the other.
//
//	go test                                    # half a minute
//	go test -rapid.checks=20000 -timeout=1h    # the long form
//	go test -run='^$' -fuzz=FuzzLimiter -fuzztime=100000x
//
// A program that fails is shrunk, and printed as Go.
//
// Histories are what several goroutines did at a time, each call with when it began
// and ended. One is right if there is an order in which the model answers the same.
//
//	go test -run=Histories -v -rapid.checks=160 -runs=200 -timeout=1h    # the long form
package proof
