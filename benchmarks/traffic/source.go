package traffic

import (
	"math/rand/v2"
	"unsafe"
)

// A Source is an endless sequence of keys, for one goroutine.
type Source interface {
	// Fill replaces keys by the next ones.
	Fill(keys []string)
}

// A source draws clients by number and writes their keys over the last ones:
// a key is valid until the next Fill, so it is for those who know all clients.
type source struct {
	next func() uint64
	text []byte
}

func (s *source) Fill(keys []string) {
	s.text = s.text[:0]
	for range keys {
		s.text = appendKey(s.text, s.next())
	}
	for i := range keys {
		keys[i] = unsafe.String(&s.text[i*KeyLen], KeyLen)
	}
}

// Uniform draws each of n clients as often as any other.
func Uniform(n int, seed uint64) Source {
	random := rand.New(rand.NewPCG(seed, 1))
	return &source{next: func() uint64 { return random.Uint64N(uint64(n)) }}
}

// Zipf draws from n clients, the i-th in proportion to 1 / i^1.1.
func Zipf(n int, seed uint64) Source {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(seed, 2)), 1.1, 1, uint64(n-1))
	return &source{next: zipf.Uint64}
}

// Hot is the client 0 and nobody else.
func Hot() Source { return hot(Key(0)) }

type hot string

func (h hot) Fill(keys []string) {
	for i := range keys {
		keys[i] = string(h)
	}
}
