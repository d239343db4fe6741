// Package maphash stands for hash/maphash. A uint64 is its own hash, so that a test
// says where a key lies.
package maphash

type Seed struct{}

func MakeSeed() Seed { return Seed{} }

func Comparable[T comparable](_ Seed, key T) uint64 { return any(key).(uint64) }
