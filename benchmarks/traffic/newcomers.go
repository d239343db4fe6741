package traffic

import "math/rand/v2"

// New is clients that nobody saw before: from first on, each once. The keys are
// the receiver's to keep.
func New(first uint64) Source { return &newcomers{next: first} }

type newcomers struct {
	next uint64
	text []byte
}

func (s *newcomers) Fill(keys []string) {
	s.text = s.text[:0]
	for range keys {
		s.text = appendKey(s.text, s.next)
		s.next++
	}
	text := string(s.text)
	for i := range keys {
		keys[i] = text[i*KeyLen : (i+1)*KeyLen]
	}
}

// Flood is an attack: nine of ten keys are the client 0, the tenth is one that
// nobody saw before, from first on.
func Flood(first, seed uint64) Source {
	return &flood{random: rand.New(rand.NewPCG(seed, 3)), attacker: Key(0), new: New(first)}
}

type flood struct {
	random   *rand.Rand
	attacker string
	new      Source
}

func (s *flood) Fill(keys []string) {
	for i := range keys {
		keys[i] = s.attacker
	}
	tenth := max(1, len(keys)/10)
	s.new.Fill(keys[:tenth])
	s.random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
}
