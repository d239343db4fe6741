package replay

import (
	"math/bits"
	"slices"

	"github.com/goweir/weir/cmd/weir/internal/accesslog"
)

// A table is entries by key, without a pointer in them. It is in parts, each of
// which grows by itself, by 1/32 when it is 9/10 full: 22 to 23 bytes a client.
type table struct{ parts [parts]part }

const (
	parts    = 32
	partBits = 5
)

type part struct {
	entries []entry // open addressing with linear probing; the zero entry is free
	used    int
}

// An entry is what became of a client, in words of 32 bits to take no more than five
// of them.
type entry struct {
	high, low        uint32 // the key
	requests, denied uint32
	since            uint32 // the first denial that nothing was admitted after, in ticks; 0 if the last was admitted
}

func (e *entry) key() accesslog.Key { return accesslog.Key(e.high)<<32 | accesslog.Key(e.low) }

// find returns the entry of a key, a new one if there is none. It is good until the
// next call.
func (t *table) find(k accesslog.Key) *entry {
	h := hash(k)
	p := &t.parts[h>>(64-partBits)]
	if 10*p.used >= 9*len(p.entries) {
		p.grow()
	}
	e := p.find(k, h<<partBits)
	if e.key() == accesslog.None {
		e.high, e.low = uint32(k>>32), uint32(k)
		p.used++
	}
	return e
}

// hash spreads addresses, which differ in their last bits, over all bits.
func hash(k accesslog.Key) uint64 {
	h := uint64(k) * 0x9e3779b97f4a7c15
	return (h ^ h>>32) * 0xd6e8feb86659fd93
}

// find returns where a key is, or the free place where it belongs.
func (p *part) find(k accesslog.Key, hash uint64) *entry {
	place, _ := bits.Mul64(hash, uint64(len(p.entries)))
	for i := int(place); ; {
		if e := &p.entries[i]; e.key() == k || e.key() == accesslog.None {
			return e
		}
		if i++; i == len(p.entries) {
			i = 0
		}
	}
}

func (p *part) grow() {
	old := p.entries
	p.entries = slices.Grow([]entry(nil), max(8, len(old)+len(old)/32+1))
	p.entries = p.entries[:cap(p.entries)] // what the allocator rounds up to is used too
	clear(p.entries)
	for i := range old {
		if k := old[i].key(); k != accesslog.None {
			*p.find(k, hash(k)<<partBits) = old[i]
		}
	}
}

// all calls f with every entry.
func (t *table) all(f func(*entry)) {
	for i := range t.parts {
		for j := range t.parts[i].entries {
			if e := &t.parts[i].entries[j]; e.key() != accesslog.None {
				f(e)
			}
		}
	}
}
