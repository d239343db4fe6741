package weir

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/goweir/weir/internal/arena"
)

// A logbook holds the logs of several keys, without a pointer to each. The zero
// logbook is empty.
type logbook struct {
	arenas []*arena.Arena // one for each number of bytes a stamp
}

// arena returns the arena for stamps of so many bytes.
func (b *logbook) arena(bytes int) *arena.Arena {
	for _, a := range b.arenas {
		if a.Unit() == bytes {
			return a
		}
	}
	a := arena.New(bytes)
	b.arenas = append(b.arenas, a)
	return a
}

// A log as a state's word, its ref, is its length in stamps above its block in
// the arena. 0 is the empty log.
const logLenBits = 32

func splitLogRef(ref uint64) (length int, block arena.Ref) {
	return int(ref >> logLenBits), arena.Ref(ref & math.MaxUint32)
}

func joinLogRef(length int, block arena.Ref) uint64 {
	return uint64(length)<<logLenBits | uint64(block)
}

// A log is one key's, opened. What is done to it is kept by writing its ref back
// to the state.
type log struct {
	format stampFormat
	arena  *arena.Arena
	block  arena.Ref
	bytes  []byte // of block
	len    int    // stamps
	newest int64  // no stamp is newer
}

// open returns the log of a state.
func (b *logbook) open(f stampFormat, s state) log {
	l := log{format: f, arena: b.arena(f.bytes), newest: reading(s.newest)}
	l.len, l.block = splitLogRef(s.words[0])
	l.bytes = l.arena.Bytes(l.block)
	return l
}

func (l *log) ref() uint64 { return joinLogRef(l.len, l.block) }

// at returns the instant of a stamp.
func (l *log) at(i int) int64 {
	at, _ := l.stamp(i)
	return at
}

// sum returns what was taken up to a stamp and with it, 0 before the first. Only
// the format's bits of it count.
func (l *log) sum(i int) uint64 {
	if i < 0 {
		return 0
	}
	_, sum := l.stamp(i)
	return sum
}

func (l *log) stamp(i int) (at int64, sum uint64) {
	b := l.bytes[i*l.format.bytes:]
	if l.format == wideStamp {
		return int64(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint64(b[8:])
	}
	var v uint64
	for j := l.format.bytes - 1; j >= 0; j-- {
		v = v<<8 | uint64(b[j])
	}
	// The instant's bits are the last ones of one that is at most newest.
	age := (uint64(l.newest) - v>>l.format.sumBits) & l.format.atMask()
	return l.newest - int64(age), v & l.format.sumMask()
}

func (l *log) set(i int, at int64, sum uint64) {
	b := l.bytes[i*l.format.bytes:]
	if l.format == wideStamp {
		binary.LittleEndian.PutUint64(b, uint64(at))
		binary.LittleEndian.PutUint64(b[8:], sum)
		return
	}
	v := uint64(at)<<l.format.sumBits | sum&l.format.sumMask()
	for j := range l.format.bytes {
		b[j] = byte(v)
		v >>= 8
	}
}

func (f stampFormat) sumMask() uint64 { return 1<<f.sumBits - 1 }

func (f stampFormat) atMask() uint64 { return 1<<(8*f.bytes-f.sumBits) - 1 }

// since returns what was taken after the first so many stamps.
func (l *log) since(stamps int) int64 {
	return int64((l.sum(l.len-1) - l.sum(stamps-1)) & l.format.sumMask())
}

// expired returns how many stamps are out of view: the first ones.
func (l *log) expired(now, period int64) int {
	if l.len == 0 || uint64(now-l.at(0)) < uint64(period) {
		return 0
	}
	return sort.Search(l.len, func(i int) bool { return uint64(now-l.at(i)) < uint64(period) })
}

// drop removes the first so many stamps, and counts the others from there.
func (l *log) drop(stamps int) {
	gone := l.sum(stamps - 1)
	for i := stamps; i < l.len; i++ {
		at, sum := l.stamp(i)
		l.set(i-stamps, at, sum-gone)
	}
	l.resize(l.len - stamps)
}

// resize makes room for so many stamps, with some to spare if it shrinks.
func (l *log) resize(stamps int) {
	if room := l.arena.Len(l.block); stamps > room || stamps < room/2 {
		l.block = l.arena.Resize(l.block, stamps)
		l.bytes = l.arena.Bytes(l.block)
	}
	l.len = stamps
}

// erase drops a log.
func (b *logbook) erase(f stampFormat, ref uint64) {
	_, block := splitLogRef(ref)
	if block == 0 {
		return
	}
	a := b.arena(f.bytes)
	if a.Resize(block, 0); a.Empty() {
		b.arenas = slices.DeleteFunc(b.arenas, (*arena.Arena).Empty)
	}
}

// pack moves the logs together if much of their memory is free, and gives that
// back. each calls its argument with every state that has logs here.
func (b *logbook) pack(p *spec, each func(func(state))) {
	for _, a := range b.arenas {
		if !a.Sparse() {
			continue
		}
		a.Pack(func(move func(arena.Ref) arena.Ref) {
			each(func(s state) {
				p.eachLeaf(s, func(p *spec, s state) {
					w, ok := p.meter.(slidingWindow)
					if !ok || w.format.bytes != a.Unit() {
						return
					}
					if length, block := splitLogRef(s.words[0]); block != 0 {
						s.words[0] = joinLogRef(length, move(block))
					}
				})
			})
		})
	}
}
