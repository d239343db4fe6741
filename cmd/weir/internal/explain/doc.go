// Package explain says what a policy means: in words, as Go, as what a client that
// asks as fast as it can gets, and as what a client costs in memory.
package explain
