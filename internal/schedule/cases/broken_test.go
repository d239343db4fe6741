package cases

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"

	"github.com/goweir/weir/internal/schedule/overlay"
	"github.com/stretchr/testify/require"
)

// brokens are what the tests must find if it is done to weir: the first few always,
// all of them with -broken, as each is a copy of weir that has to be compiled.
var brokens = []struct {
	name, test string
	overlay.Change
}{
	{"a race that is lost is not decided anew", "LostRace", overlay.Change{
		Old: "if seen != before && (!takes || seen == 0) {",
		New: "if seen != before && seen == 0 {",
	}},
	{"the clock is read before the word", "LostRace", overlay.Change{
		Old: "		before, now = atomic.LoadUint64(word), d.now()\n",
		New: "		now = d.now()\n		before = atomic.LoadUint64(word)\n",
	}},
	{"a word of another policy is decided about", "TwoOnClients/word", overlay.Change{
		Old: "	if found && place.Epoch() == d.epoch {\n		if ok, moved",
		New: "	if found {\n		if ok, moved",
	}},
	{"a word is stored and not compared before", "TwoOnALimiter/word", overlay.Change{
		Old: "takes && !atomic.CompareAndSwapUint64(word, seen, b.word(debt, now)) {",
		New: "takes && atomic.SwapUint64(word, b.word(debt, now)) == 0 && false {",
	}},
	{"a state of another policy denies", "TwoOnClients/(log|bucket)/", overlay.Change{
		Old: "if found && place.Epoch() == d.epoch && d.closed(",
		New: "if found && d.closed(",
	}},
	{"a new key is not looked for again under the lock", "TwoOnClients/word", overlay.Change{
		Old: "if found || !shard.Free(place) {",
		New: "if found {",
	}},
	{"a key is looked for without the lock only", "TwoOnClients/log", overlay.Change{
		Old: "	place, found := shard.Find(hash)\n	if !found {\n		return c.decideNew(shard, hash, place, reading",
		New: "	shard.Unlock(); place, found := c.states.Find(hash); shard.Lock()\n	if !found {\n		return c.decideNew(shard, hash, place, reading",
	}},
	{"a word is copied as the table grows, and not marked", "TwoOnClients/word/about", overlay.Change{
		Old: "		words[0] = atomic.SwapUint64(&slot[0], Moved)\n		if drop",
		New: "		words[0] = atomic.LoadUint64(&slot[0])\n		if drop",
	}},
	{"a key is found before its words are there", "TwoOnClients/word", overlay.Change{
		Old: "	copy(slot, words)\n	atomic.StoreUint64(&a.entries[at], key)\n",
		New: "	atomic.StoreUint64(&a.entries[at], key)\n	atomic.StoreUint64(&slot[0], words[0])\n	copy(slot, words)\n",
	}},
	{"what is swept is looked at once", "TwoOnClients/word/full", overlay.Change{
		Old: "		if drop != nil && drop(old.entries[at], words) {",
		New: "		if drop != nil && words[0] != 0 {",
	}},
	{"a limiter's word goes on being taken from while it is apart", "TwoOnALimiter/word", overlay.Change{
		Old: "	first := atomic.SwapUint64(&h.slot[0], apart)\n	reading = ",
		New: "	first := atomic.LoadUint64(&h.slot[0])\n	reading = ",
	}},
	{"who comes while a state is apart is denied", "TwoOnClients/bucket/", overlay.Change{
		Old: "return until < leastReserved && n > 0 &&",
		New: "return n > 0 &&",
	}},
	{"the last place is taken twice", "TwoInACrowd/DenyNew_of_2", overlay.Change{
		Old: "			if s.table.len.CompareAndSwap(n, n+1) {\n				break\n			}",
		New: "			s.table.len.Store(n + 1)\n			break",
	}},
	{"a victim that is taken from meanwhile is evicted", "TwoInACrowd/EvictFullest_of_1", overlay.Change{
		Old: "	if !s.bury(old, seen) {",
		New: "	if p, _ := s.Find(old); !s.bury(old, atomic.LoadUint64(p.Word())) {",
	}},
	{"a policy of the key's own is not looked at again", "TakeAsIs", overlay.Change{
		Old: "			return false, false\n		}\n	}\n	shard := c.lock(hash)\n	if shard.Annex.decider != d {",
		New: "			return false, false\n		}\n	}\n	shard := c.lock(hash)\n	if d = shard.Annex.decider; false {",
	}},
	{"layers give nothing back", "TwoOnLayers/word", overlay.Change{
		Old: "			a.giveBack()\n",
		New: "",
	}},
	{"layers store a word and do not compare before", "TwoOnLayers/word", overlay.Change{
		Old: "if atomic.CompareAndSwapUint64(a.word, a.seen, end) {",
		New: "if atomic.SwapUint64(a.word, end) != apart {",
	}},
	{"layers charge whatever is there by then", "TwoOnLayers/word", overlay.Change{
		Old: "		if a.askWord(a.decider.now()); a.wait > 0 {",
		New: "		if a.askWord(a.decider.now()); false {",
	}},
	{"who waits is not told of a new policy", "WhoWaits", overlay.Change{
		Old: "		go t.wake()",
		New: "		_ = t.wake",
	}},
	{"the timer is not set again for who came as it rang", "InTheEnd", overlay.Change{
		Old: "	if c.states.Len() > 0 {\n		s.arm(c)\n	}",
		New: "",
	}},
	{"more may be shadowed than denied", "StatsOnlyGrow", overlay.Change{
		Old: "		l.Add(countDenied)\n		l.Add(countShadowed)\n",
		New: "		l.Add(countShadowed)\n		l.Add(countDenied)\n",
	}},
}

// always is how many of them are found without -broken.
const always = 3

// found are the runs of a contest, or of several.
var found = regexp.MustCompile(`(\d+) runs \(`)

func TestWhatIsBrokenIsFound(t *testing.T) {
	some := brokens
	if !*broken {
		some = some[:always]
	}
	for _, b := range some {
		t.Run(b.name, func(t *testing.T) {
			var out bytes.Buffer
			err := runOnCopy(t.TempDir(), &out, []string{"-test.failfast", "-test.v", "-test.run=" + b.test}, b.Change)
			require.ErrorContains(t, err, "exit status 1")
			require.Contains(t, out.String(), "of these steps:")
			sum := 0
			for _, match := range found.FindAllSubmatch(out.Bytes(), -1) {
				n, _ := strconv.Atoi(string(match[1]))
				sum += n
			}
			t.Logf("found after %d runs", sum)
		})
	}
}

// TestItIsRightIfTheClockIsReadFirst: before a word is found, as who has met others there
// does. It may admit then, and not deny.
func TestItIsRightIfTheClockIsReadFirst(t *testing.T) {
	first := overlay.Change{Old: "	if line.Flag.Load() {\n", New: "	{\n"}
	denies := overlay.Change{Old: "	before := uint64(table.Moved)\n", New: "	before := atomic.LoadUint64(word)\n"}
	cases := "-test.run=TwoOnALimiter/word|GoesBy/word|Exactly.*/word|LostRace"

	var out bytes.Buffer
	require.NoError(t, runOnCopy(t.TempDir(), &out, []string{"-test.v", cases}, first), &out)
	require.Contains(t, out.String(), "--- PASS: TestALostRaceIsDecidedAnew")
	out.Reset()
	require.ErrorContains(t, runOnCopy(t.TempDir(), &out, []string{cases}, first, denies), "exit status 1")
	require.Contains(t, out.String(), "of these steps:")
}

// TestWhatIsBrokenWasThere: each change is still one of weir as it is.
func TestWhatIsBrokenWasThere(t *testing.T) {
	var changes []overlay.Change
	for _, b := range brokens {
		changes = append(changes, b.Change)
	}
	_, err := overlay.Overlay{Package: weirPath, Changes: changes}.Write(t.TempDir())
	require.NoError(t, err)
}
