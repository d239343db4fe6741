// Package atomic stands for sync/atomic, with a point before each access. It has
// what is needed: code that uses more does not compile with it.
package atomic

import (
	"unsafe"

	"github.com/goweir/weir/internal/schedule"
)

func LoadUint64(p *uint64) uint64 {
	schedule.Point(schedule.Read, unsafe.Pointer(p))
	return *p
}

func StoreUint64(p *uint64, v uint64) {
	schedule.Point(schedule.Write, unsafe.Pointer(p))
	*p = v
}

func SwapUint64(p *uint64, v uint64) (old uint64) {
	schedule.Point(schedule.Write, unsafe.Pointer(p))
	old, *p = *p, v
	return old
}

func CompareAndSwapUint64(p *uint64, old, v uint64) bool {
	return compareAndSwap(p, old, v)
}

func compareAndSwap[T comparable](p *T, old, v T) bool {
	schedule.Point(schedule.Write, unsafe.Pointer(p))
	if *p != old {
		return false
	}
	*p = v
	return true
}

// A word is a value that is accessed atomically.
type word[T comparable] struct{ v T }

func (w *word[T]) Load() T {
	schedule.Point(schedule.Read, unsafe.Pointer(w))
	return w.v
}

func (w *word[T]) Store(v T) { w.Swap(v) }

func (w *word[T]) Swap(v T) (old T) {
	schedule.Point(schedule.Write, unsafe.Pointer(w))
	old, w.v = w.v, v
	return old
}

func (w *word[T]) CompareAndSwap(old, v T) bool { return compareAndSwap(&w.v, old, v) }

// A number is a word that can be added to. Adding returns nothing, so that two who
// add do not concern each other.
type number[T int64 | uint64] struct{ word[T] }

func (n *number[T]) Add(d T) {
	schedule.Point(schedule.Add, unsafe.Pointer(n))
	n.v += d
}

type (
	Bool           struct{ word[bool] }
	Int64          struct{ number[int64] }
	Uint64         struct{ number[uint64] }
	Pointer[T any] struct{ word[*T] }
)
