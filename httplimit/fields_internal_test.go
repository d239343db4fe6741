package httplimit

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// TestAWindowIsRoundedUpFromTheExactTime: a fraction of a nanosecond beyond a second
// is a second more.
func TestAWindowIsRoundedUpFromTheExactTime(t *testing.T) {
	exact := weir.TokenBucket(weir.Per(3, 3*time.Second).WithBurst(1)).Named("a")
	beyond := weir.TokenBucket(weir.Per(3, 3*time.Second+1).WithBurst(1)).Named("a")
	require.Equal(t, `"a";q=1;w=1`, string(newPolicyField([]weir.Policy{exact})))
	require.Equal(t, `"a";q=1;w=2`, string(newPolicyField([]weir.Policy{beyond})))
}

func TestMulDivSaturates(t *testing.T) {
	require.EqualValues(t, 6, mulDiv(4, 5, 3))
	require.EqualValues(t, uint64(1<<63), mulDiv(1<<63, 1<<63, 1<<63))
	require.Equal(t, uint64(math.MaxUint64), mulDiv(1<<63, 2, 1))
	require.Equal(t, uint64(math.MaxUint64), mulDiv(1<<63, 4, 1))
}

func TestANameKeepsWhatIsPrintable(t *testing.T) {
	require.Equal(t, `" ~!\"\\%25%7F%1F%C3%A9"`, string(appendString(nil, " ~!\"\\%\x7f\x1fé")))
}

func TestOnlyADenialSaysWhenToComeBack(t *testing.T) {
	for _, c := range []struct {
		d    weir.Decision
		want uint64
		ok   bool
	}{
		{weir.Decision{Allowed: true, RetryAfter: 5 * time.Second}, 0, false},
		{weir.Decision{RetryAfter: weir.Never}, 0, false},
		{weir.Decision{RetryAfter: -1}, 1, true},
		{weir.Decision{}, 1, true},
		{weir.Decision{RetryAfter: time.Second + 1}, 2, true},
	} {
		got, ok := retrySeconds(c.d)
		require.Equal(t, c.ok, ok)
		require.Equal(t, c.want, got)
	}
}

func TestTheFieldsOfWhoHasLessLeftStay(t *testing.T) {
	for there, want := range map[string]bool{"9": true, "10": true, "11": false, "50": false, "0": true, "": false, "abc": false, "-1": false} {
		require.Equal(t, want, hasLessLeft(http.Header{keyXRemaining: {there}}, 10), there)
	}
	require.False(t, hasLessLeft(http.Header{}, 10))

	h := http.Header{keyXRemaining: {"0"}}
	HeadersXRateLimit.Set(h, weir.Decision{Allowed: true, Policy: "a", Limit: 10, Remaining: 5})
	require.Equal(t, http.Header{keyXRemaining: {"0"}}, h)
}

func TestXRateLimitListsNoPolicies(t *testing.T) {
	policy := weir.TokenBucket(weir.PerSecond(1)).Named("a")
	for _, d := range []weir.Decision{{Allowed: true}, {Allowed: true, Policy: "a", Limit: 1}, {Policy: "a", Limit: 1}} {
		h := http.Header{}
		HeadersXRateLimit.Set(h, d, policy)
		require.NotContains(t, h, keyPolicy)
		require.NotContains(t, h, keyLimit)
	}
}

// TestAFieldCanBeAppendedTo: without a change to another.
func TestAFieldCanBeAppendedTo(t *testing.T) {
	policy := weir.TokenBucket(weir.PerSecond(1)).Named("a")
	for _, format := range []HeaderFormat{HeadersStandard, HeadersXRateLimit, HeadersBoth} {
		h := http.Header{}
		format.Set(h, weir.Decision{Allowed: true, Policy: "a", Limit: 9, Remaining: 5, ResetAfter: time.Second}, policy)
		before := h.Clone()
		for key := range h {
			h.Add(key, "x")
		}
		for key, values := range before {
			require.Equal(t, append(values, "x"), h[key], key)
		}
	}
}
