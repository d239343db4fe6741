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
	arenas  []*arena.Arena // one for each number of bytes a stamp
	scratch bool           // it is filled and cleared many times
}

// clear empties a scratch book.
func (b *logbook) clear() {
	for _, a := range b.arenas {
		a.Clear()
	}
}

// arena returns the arena for stamps of so many bytes.
func (b *logbook) arena(bytes int) *arena.Arena {
	for _, a := range b.arenas {
		if a.Unit() == bytes {
			return a
		}
	}
	a := arena.New(bytes)
	if b.scratch {
		a = arena.NewScratch(bytes)
	}
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
	l := log{format: f, arena: b.arena(f.bytes), newest: readingOf(s.newest)}
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
	if l.len == 0 || l.inView(0, now, period) {
		return 0
	}
	return sort.Search(l.len, func(i int) bool { return l.inView(i, now, period) })
}

// inView reports whether a stamp is less than a period old, or still to come.
func (l *log) inView(i int, now, period int64) bool {
	at := l.at(i)
	return at > now || uint64(now-at) < uint64(period)
}

// shed forgets so many of the oldest, beside the first so many stamps.
func (l *log) shed(stamps int, n int64) {
	if n <= 0 {
		return
	}
	kept := l.since(stamps) - n
	stamps += sort.Search(l.len-stamps, func(i int) bool { return l.since(stamps+i+1) < kept })
	l.drop(stamps)
	if l.len > 0 {
		l.lessen(0, l.since(0)-kept)
	}
}

// lessen takes up to n from a stamp, and the stamp away if that is all of it.
func (l *log) lessen(i int, n int64) {
	of := l.since(i) - l.since(i+1)
	n = min(n, of)
	for j := i; j < l.len; j++ {
		at, sum := l.stamp(j)
		l.set(j, at, sum-uint64(n))
	}
	if n < of {
		return
	}
	for j := i + 1; j < l.len; j++ {
		at, sum := l.stamp(j)
		l.set(j-1, at, sum)
	}
	l.resize(l.len - 1)
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
	b.arena(f.bytes).Resize(block, 0)
}

// trim gives back what is left of logs of which there are none any more. Until then it
// is kept: they come and go.
func (b *logbook) trim() { b.arenas = slices.DeleteFunc(b.arenas, (*arena.Arena).Empty) }

// pack moves the logs together if much of their memory is free, and gives that
// back. each calls its argument with the block of every log of stamps of so many
// bytes, and puts what that returns in its place.
func (b *logbook) pack(each func(bytes int, move func(arena.Ref) arena.Ref)) {
	b.trim()
	for _, a := range b.arenas {
		if a.Sparse() {
			a.Pack(func(move func(arena.Ref) arena.Ref) { each(a.Unit(), move) })
		}
	}
}

// moveLogs moves the logs of stamps of so many bytes that a state's words name.
func (p *spec) moveLogs(words []uint64, bytes int, move func(arena.Ref) arena.Ref) {
	p.eachLeaf(state{words: words}, func(p *spec, s state) {
		w, ok := p.meter.(slidingWindow)
		if !ok || w.format.bytes != bytes {
			return
		}
		if length, block := splitLogRef(s.words[0]); block != 0 {
			s.words[0] = joinLogRef(length, move(block))
		}
	})
}

// copyLogs replaces the logs of a state whose words are a copy of another's by
// copies in its own book, in the format for looking ahead if that is asked for.
func (p *spec) copyLogs(s, t state, ahead bool) {
	at := 0
	p.eachLeaf(s, func(p *spec, s state) {
		if w, ok := p.meter.(slidingWindow); ok {
			to := w
			if ahead {
				to = w.ahead()
			}
			w.copyLog(s, to, t.part(at, at+1))
		}
		at += p.size
	})
}

// copyLog copies what was in view when the state was charged last.
func (w slidingWindow) copyLog(s state, to slidingWindow, t state) {
	from, expired, used := w.look(s, readingOf(s.newest))
	t.words[0] = 0
	l := to.open(t)
	l.resize(from.len - expired)
	for i := range l.len {
		l.set(i, from.at(expired+i), uint64(used-from.since(expired+i+1)))
	}
	t.words[0] = l.ref()
}
