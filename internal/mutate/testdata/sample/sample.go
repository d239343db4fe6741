// Package sample has something of everything that is mutated, and of what is not.
package sample

import (
	"errors"
	"math"
	"strings"
	"time"
)

const limit = 10

type size uint8

var defaults = [...]size{limit: 3}

func compare(a, b int) string {
	switch {
	case a < b:
		return "less"
	case a == b || a > 2*b && b != 0:
		return "equal or twice"
	}
	return ""
}

// The names of types and packages are shadowed here.
func count(size size, time time.Duration) (n size_, err error) {
	if size == 0 {
		return 0, errors.New("0")
	}
	for i := size; i > 0; i-- {
		n += size_(i) << 1
	}
	if time >= math.MaxInt64 {
		panic("more than " + strings.Repeat("9", 19))
	}
	return max(n, limit), nil
}

type size_ = uint64

type pair[K comparable] struct {
	key  K
	made time.Time
	more []K
}

func (p *pair[K]) set(k K, later bool) bool {
	p.key, p.more = k, make([]K, 0, 4)
	p.more = append(p.more, k)
	if later {
		p.made = p.made.Add(time.Minute)
	}
	defer func() { p.more = p.more[:len(p.more)-1] }()
	return !later
}

func never() int { return -int(defaults[limit]) }
