package explain

import (
	"math/bits"

	"github.com/goweir/weir"
)

// Bytes returns what a client takes in a PerClient that holds many, places that
// are free included: least for one that was admitted once, and most for one that
// has used all it can. They differ for a sliding window, which keeps a log.
//
//	bucket          5/4 (8 + 8), the hash of its key and its one word
//	anything else   5/4 (8 + 16 + 8 words), and the log
func Bytes(p weir.Policy) (least, most int) {
	words, log, logs := size(p)
	if a := p.Algorithm(); words == 1 && (a == weir.AlgorithmTokenBucket || a == weir.AlgorithmLeakyBucket) {
		return 20, 20
	}
	entry := (24 + 8*words) * 5 / 4
	return entry + log, entry + logs
}

// size returns the words of a state, and the bytes of logs with one stamp and with
// as many as fit.
func size(p weir.Policy) (words, one, all int) {
	l, ok := p.Limit()
	if !ok {
		for _, part := range p.Parts() {
			w, o, a := size(part)
			words, one, all = words+w, one+o, all+a
		}
		return words, one, all
	}
	if l == weir.Unlimited() || l.Count() == 0 {
		return 0, 0, 0
	}
	switch p.Algorithm() {
	case weir.AlgorithmFixedWindow:
		return 2, 0, 0
	case weir.AlgorithmSlidingCounter:
		return 3, 0, 0
	case weir.AlgorithmSlidingWindow:
		stamp := bits.Len64(2*uint64(l.Period())) + bits.Len64(uint64(l.Count()))
		if stamp = (stamp + 7) / 8; stamp > 8 {
			stamp = 16
		}
		return 1, stamp, stamp * l.Count()
	}
	return 1, 0, 0
}
