//go:build race

package cases

// raced says that the race detector is on.
const raced = true
