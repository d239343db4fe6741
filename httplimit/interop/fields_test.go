package interop_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

// An item is a member of RateLimit or RateLimit-Policy as it is meant: the name
// of a policy, and the Integers that go with it.
type item struct {
	name       string
	parameters map[string]int64
}

// Whatever the policies, their names and the decisions, a parser of RFC 9651 that
// weir did not write reads in the fields what weir meant by them.
func TestFieldsAreReadAsTheyAreMeant(t *testing.T) {
	t.Parallel()
	input := make([]byte, 1<<10)
	for seed := range 3000 {
		random := rand.NewChaCha8([32]byte(binary.LittleEndian.AppendUint64(make([]byte, 24), uint64(seed))))
		_, _ = random.Read(input)
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { checkFields(t, input) }) {
			return
		}
	}
}

// Of a policy that never admits anything nothing is left, though another way to
// pay may have something.
func TestNothingIsLeftOfWhatIsClosed(t *testing.T) {
	t.Parallel()
	closed := weir.TokenBucket(weir.Limit{}).Named("closed")
	either := weir.FirstOf(closed, weir.TokenBucket(weir.PerMinute(10)).Named("open"))
	d := weir.New(either, weir.WithClock(weir.NewManualClock())).Take(11)
	h := http.Header{}
	httplimit.HeadersStandard.Set(h, d, either)
	requireMeans(t, []item{{"closed", map[string]int64{"q": 0}}, {"open", map[string]int64{"q": 10, "w": 60}}}, h["Ratelimit-Policy"])
	requireMeans(t, []item{{"closed", map[string]int64{"r": 0}}}, h["Ratelimit"])
}

func FuzzFieldsAreReadAsTheyAreMeant(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x01\x00\x05\x02one policy, and a decision"))
	f.Add(bytes.Repeat([]byte{7}, 300))
	for seed := range uint64(4) {
		input := make([]byte, 200<<seed)
		_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(input)
		f.Add(input)
	}
	f.Fuzz(checkFields)
}

// checkFields lets some middlewares, of which one may be a stranger, write to a
// response what the input says, and reads it as it goes over the wire.
func checkFields(t *testing.T, input []byte) {
	c := choices{input}
	h := http.Header{}
	var policies, limits []item // as they are meant
	if c.oneIn(8) {
		h.Add("RateLimit-Policy", `"a stranger's";q=1;w=2`)
		h.Add("RateLimit", `"a stranger's";r=0;t=1`)
		policies = append(policies, item{"a stranger's", map[string]int64{"q": 1, "w": 2}})
		limits = append(limits, item{"a stranger's", map[string]int64{"r": 0, "t": 1}})
	}
	var told [][]item
	for range 1 + c.below(3) {
		format := pick(&c, httplimit.HeadersStandard, httplimit.HeadersBoth, httplimit.HeadersXRateLimit, httplimit.HeadersRetryAfterOnly)
		under := c.policies()
		d, taken := c.decision(under)
		format.Set(h, d, under...)
		if format == httplimit.HeadersXRateLimit || format == httplimit.HeadersRetryAfterOnly {
			continue
		}
		quotas := quotasOf(under)
		if len(quotas) > 0 && !slices.ContainsFunc(told, func(before []item) bool { return slices.EqualFunc(before, quotas, same) }) {
			told = append(told, quotas)
			policies = append(policies, quotas...)
		}
		if limit, ok := serviceLimitOf(d); ok {
			limits = append(limits, limit)
			if taken {
				require.True(t, slices.ContainsFunc(quotas, func(quota item) bool {
					return quota.name == limit.name && quota.parameters["q"] >= limit.parameters["r"]
				}), "%v is of a policy that %v lists, and r no more than its q", limit, quotas)
			}
		}
	}
	h = overTheWire(t, h)
	requireMeans(t, policies, h["Ratelimit-Policy"])
	requireMeans(t, limits, h["Ratelimit"])
}

// overTheWire returns what a client gets of a header. net/http makes spaces of
// line breaks, and takes off spaces at the ends.
func overTheWire(t *testing.T, h http.Header) http.Header {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, h.Write(&b))
	b.WriteString("\r\n")
	got, err := textproto.NewReader(bufio.NewReader(&b)).ReadMIMEHeader()
	require.NoError(t, err)
	return http.Header(got)
}

// requireMeans holds the lines of a field to the items that are meant: Strings, of
// which url.PathUnescape makes the names, with Integers and no other parameters.
func requireMeans(t *testing.T, want []item, lines []string) {
	t.Helper()
	if len(want) == 0 {
		require.Empty(t, lines, "an empty List is no field at all")
		return
	}
	list, err := httpsfv.UnmarshalList(lines)
	require.NoError(t, err, lines)
	var got []item
	for _, member := range list {
		require.IsType(t, httpsfv.Item{}, member)
		value := member.(httpsfv.Item)
		require.IsType(t, "", value.Value, "a Token, say, would be of another type")
		name, err := url.PathUnescape(value.Value.(string))
		require.NoError(t, err)
		read := item{name, map[string]int64{}}
		for _, key := range value.Params.Names() {
			n, _ := value.Params.Get(key)
			require.IsType(t, int64(0), n, key)
			read.parameters[key] = n.(int64)
		}
		got = append(got, read)
	}
	require.Equal(t, want, got)
}

// maxInteger is the greatest Integer of RFC 9651.
const maxInteger = 999_999_999_999_999

// quotasOf says what RateLimit-Policy is meant to say: each policy that limits
// anything, once.
func quotasOf(policies []weir.Policy) (quotas []item) {
	for _, p := range policies {
		l, leaf := p.Limit()
		switch {
		case p.Validate() != nil, leaf && l == weir.Unlimited():
		case leaf:
			quotas = append(quotas, quotaOf(p, l))
		default:
			quotas = append(quotas, quotasOf(p.Parts())...)
		}
	}
	var once []item
	for _, quota := range quotas {
		if !slices.ContainsFunc(once, func(before item) bool { return same(before, quota) }) {
			once = append(once, quota)
		}
	}
	return once
}

// quotaOf is the definition in the documentation of HeadersStandard:
//
//	w = the seconds in which the whole capacity comes back, rounded up
//	q = what comes back in w
func quotaOf(p weir.Policy, l weir.Limit) item {
	capacity := l.Burst()
	if p.Algorithm() == weir.AlgorithmLeakyBucket {
		capacity = min(capacity, 1)
	}
	second := big.NewInt(int64(time.Second))
	count, period := big.NewInt(int64(l.Count())), big.NewInt(int64(l.Period()))
	if capacity == 0 || l.Count() == 0 { // nothing ever comes back
		return newItem(p.Name(), "q", new(big.Int), "w", ceilDiv(period, second))
	}
	refill := new(big.Int).Mul(big.NewInt(int64(capacity)), period) // times the count
	w := ceilDiv(refill, new(big.Int).Mul(count, second))
	earned := new(big.Int).Mul(new(big.Int).Mul(count, w), second)
	return newItem(p.Name(), "q", earned.Quo(earned, period), "w", w)
}

// serviceLimitOf says what RateLimit is meant to say of a decision, if anything
// applies to it.
func serviceLimitOf(d weir.Decision) (item, bool) {
	if d.Policy == "" || d.Limit == math.MaxInt {
		return item{}, false
	}
	left, reset := min(max(d.Remaining, 0), max(d.Limit, 0)), max(d.ResetAfter, 0)
	if d.RetryAfter > 0 && d.RetryAfter != weir.Never {
		reset = d.RetryAfter
	}
	seconds := ceilDiv(big.NewInt(int64(reset)), big.NewInt(int64(time.Second)))
	return newItem(d.Policy, "r", big.NewInt(int64(left)), "t", seconds), true
}

// newItem leaves out a time of 0, which is no window.
func newItem(name, number string, n *big.Int, seconds string, s *big.Int) item {
	made := item{name, map[string]int64{number: clamp(n)}}
	if s.Sign() > 0 {
		made.parameters[seconds] = clamp(s)
	}
	return made
}

func clamp(n *big.Int) int64 {
	if !n.IsInt64() {
		return maxInteger
	}
	return min(n.Int64(), maxInteger)
}

func ceilDiv(a, b *big.Int) *big.Int {
	quotient, rest := new(big.Int).QuoRem(a, b, new(big.Int))
	if rest.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient
}

func same(a, b item) bool {
	return a.name == b.name && fmt.Sprint(a.parameters) == fmt.Sprint(b.parameters)
}
