// Package switches is what a mutated package gets to see of its mutations. The file
// is compiled into that package, under that package's name, and each mutated
// expression becomes a call of one of these functions with the mutant's number.
//
// The environment says which mutant a process is, as WEIR_MUTANT=17. With
// WEIR_MUTANT=reach:FILE it is none, and FILE gets the number of each mutant that it
// asked for. Where that is easy to tell, a function asks only if the mutant's value
// is not the original's, so that fewer tests have to be run for it.
package switches

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

const mutantReaching = -1

// The mutated package's own variables may call what is below before main does: these
// are set from one function, so that they are initialized first.
var mutantActive, mutantReached = mutantStart()

type mutantReach struct {
	file *os.File
	seen [1 << 16]atomic.Bool
}

func mutantStart() (int, *mutantReach) {
	value := os.Getenv("WEIR_MUTANT")
	if name, ok := strings.CutPrefix(value, "reach:"); ok {
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			panic(err)
		}
		return mutantReaching, &mutantReach{file: file}
	}
	active, _ := strconv.Atoi(value)
	return active, nil
}

// MutantOn reports whether the process is mutant id.
func MutantOn(id int) bool {
	if mutantActive == mutantReaching && mutantReached.seen[id].CompareAndSwap(false, true) {
		mutantReached.file.WriteString(strconv.Itoa(id) + "\n")
	}
	return mutantActive == id
}

// MutantNot is v, and !v in the mutant.
func MutantNot[T ~bool](id int, v T) T { return v != T(MutantOn(id)) }

// MutantTrue is v, and true in the mutant.
func MutantTrue[T ~bool](id int, v T) T { return v || T(MutantOn(id)) }

// MutantFalse is v, and false in the mutant.
func MutantFalse[T ~bool](id int, v T) T { return v && !T(MutantOn(id)) }

// MutantZero is v, and its type's zero value in the mutant.
func MutantZero[T any](id int, v T) T {
	if MutantOn(id) {
		var zero T
		return zero
	}
	return v
}

// MutantLess is a < b, and a <= b in the mutant.
func MutantLess[T cmp.Ordered](id int, a, b T) bool { return a < b || a == b && MutantOn(id) }

// MutantMore is a > b, and a >= b in the mutant.
func MutantMore[T cmp.Ordered](id int, a, b T) bool { return a > b || a == b && MutantOn(id) }

// MutantAtMost is a <= b, and a < b in the mutant.
func MutantAtMost[T cmp.Ordered](id int, a, b T) bool { return a < b || a == b && !MutantOn(id) }

// MutantAtLeast is a >= b, and a > b in the mutant.
func MutantAtLeast[T cmp.Ordered](id int, a, b T) bool { return a > b || a == b && !MutantOn(id) }

type mutantInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type mutantNumber interface {
	mutantInteger | ~float32 | ~float64
}

// MutantNext is v, and v+1 in the mutant.
func MutantNext[T mutantNumber](id int, v T) T {
	if MutantOn(id) {
		return v + 1
	}
	return v
}

// MutantTwice is v, and 2*v in the mutant.
func MutantTwice[T mutantNumber](id int, v T) T {
	if MutantOn(id) {
		return 2 * v
	}
	return v
}

// MutantNeg is v, and -v in the mutant.
func MutantNeg[T mutantNumber](id int, v T) T {
	if MutantOn(id) {
		return -v
	}
	return v
}

// MutantAdd is a + b, and a - b in the mutant.
func MutantAdd[T mutantNumber](id int, a, b T) T {
	if MutantOn(id) {
		return a - b
	}
	return a + b
}

// MutantSub is a - b, and a + b in the mutant.
func MutantSub[T mutantNumber](id int, a, b T) T {
	if MutantOn(id) {
		return a + b
	}
	return a - b
}

// MutantMul is a * b, and a / b in the mutant.
func MutantMul[T mutantNumber](id int, a, b T) T {
	if MutantOn(id) {
		return a / b
	}
	return a * b
}

// MutantQuo is a / b, and a * b in the mutant.
func MutantQuo[T mutantNumber](id int, a, b T) T {
	if MutantOn(id) {
		return a * b
	}
	return a / b
}

// MutantRem is a % b, and a * b in the mutant.
func MutantRem[T mutantInteger](id int, a, b T) T {
	if MutantOn(id) {
		return a * b
	}
	return a % b
}

// MutantAnd is a & b, and a | b in the mutant.
func MutantAnd[T mutantInteger](id int, a, b T) T {
	if MutantOn(id) {
		return a | b
	}
	return a & b
}

// MutantOr is a | b, and a & b in the mutant.
func MutantOr[T mutantInteger](id int, a, b T) T {
	if MutantOn(id) {
		return a & b
	}
	return a | b
}

// MutantXor is a ^ b, and a & b in the mutant.
func MutantXor[T mutantInteger](id int, a, b T) T {
	if MutantOn(id) {
		return a & b
	}
	return a ^ b
}

// MutantAndNot is a &^ b, and a & b in the mutant.
func MutantAndNot[T mutantInteger](id int, a, b T) T {
	if MutantOn(id) {
		return a & b
	}
	return a &^ b
}

// MutantShl is a << b, and a >> b in the mutant.
func MutantShl[T, S mutantInteger](id int, a T, b S) T {
	if MutantOn(id) {
		return a >> b
	}
	return a << b
}

// MutantShr is a >> b, and a << b in the mutant.
func MutantShr[T, S mutantInteger](id int, a T, b S) T {
	if MutantOn(id) {
		return a << b
	}
	return a >> b
}

// MutantMin is min(v, more...), and max in the mutant.
func MutantMin[T cmp.Ordered](id int, v T, more ...T) T {
	return mutantExtreme(MutantOn(id), v, more)
}

// MutantMax is max(v, more...), and min in the mutant.
func MutantMax[T cmp.Ordered](id int, v T, more ...T) T {
	return mutantExtreme(!MutantOn(id), v, more)
}

func mutantExtreme[T cmp.Ordered](greatest bool, v T, more []T) T {
	for _, m := range more {
		if greatest {
			v = max(v, m)
		} else {
			v = min(v, m)
		}
	}
	return v
}
