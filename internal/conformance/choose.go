package conformance

import (
	"encoding/binary"
	"math/rand/v2"
)

// A Choose draws a number in [0, n).
type Choose func(n int64) int64

func (c Choose) oneIn(n int64) bool { return c(n) == 0 }

func pick[T any](c Choose, from ...T) T { return from[c(int64(len(from)))] }

// Randomly draws the numbers of a seed, for so many steps.
func Randomly(seed uint64, steps int) (c Choose, more func() bool) {
	return rand.New(rand.NewPCG(seed, 3)).Int64N, func() bool {
		steps--
		return steps >= 0
	}
}

// FromBytes spends as many bytes as a number needs. After the last one all are 0.
func FromBytes(data []byte) (c Choose, more func() bool) {
	c = func(n int64) int64 {
		var word [8]byte
		need := 1
		if n > 1<<8 {
			need = 8
		}
		data = data[copy(word[:need], data):]
		return int64(binary.LittleEndian.Uint64(word[:]) % uint64(n))
	}
	return c, func() bool { return len(data) > 0 }
}
