package weir

import "strconv"

// An Algorithm is the kind of a Policy.
type Algorithm uint8

// The algorithms. The zero Algorithm is that of the zero Policy.
const (
	AlgorithmTokenBucket Algorithm = iota + 1
	AlgorithmLeakyBucket
	AlgorithmFixedWindow
	AlgorithmSlidingWindow
	AlgorithmSlidingCounter
	AlgorithmAll
	AlgorithmFirstOf
)

var algorithmNames = [...]string{
	"invalid", "token-bucket", "leaky-bucket", "fixed-window",
	"sliding-window", "sliding-counter", "all", "first-of",
}

// String returns the name that policies are written with, such as
// "token-bucket".
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return "algorithm(" + strconv.Itoa(int(a)) + ")"
}
