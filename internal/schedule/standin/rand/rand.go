// Package rand stands for math/rand/v2: two runs must not differ by chance.
package rand

func Uint64() uint64 { return 0 }

func IntN(int) int { return 0 }
