package httplimit

import (
	"math"
	wide "math/bits" // of numbers of 128 bits
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir"
)

// This file is all that weir writes of draft-ietf-httpapi-ratelimit-headers-11, and
// ratelimitfield.go what it reads: the fields RateLimit-Policy (its section 3) and RateLimit (section 4), and the
// problem type of a denial (section 5.1).

// HeaderFormat says which fields tell a client about its limits. All of them
// are written with Retry-After, which a denial carries unless it is for ever.
//
// On a denial the seconds of RateLimit and of X-RateLimit-Reset are those of
// Retry-After: the draft wants no Retry-After that ends before them.
type HeaderFormat uint8

const (
	// HeadersStandard is RateLimit-Policy and RateLimit as in
	// draft-ietf-httpapi-ratelimit-headers-11, such as
	//
	//	RateLimit-Policy: "burst";q=100;w=60,"daily";q=1000;w=86400
	//	RateLimit: "burst";r=50;t=30
	//
	// The first lists each policy that applies: q requests in w seconds. What is
	// not limited is not listed. w is the time in which a policy's whole capacity
	// comes back, rounded up, and q what may pass in w: a token bucket of 60 a
	// minute with a burst of 10 is q=10;w=10, not 60 that may not come at once. So
	// r never exceeds q, and q/w is the rate.
	//
	// The second is the policy that binds: r requests may come now, and in t seconds
	// the policy is as good as unused; after a denial, t is when to come back.
	// There is no t if it is unused already.
	//
	// In names, what is not printable ASCII is percent-encoded, and so is %.
	HeadersStandard HeaderFormat = iota
	// HeadersXRateLimit is X-RateLimit-Limit, the capacity of the policy that
	// binds, X-RateLimit-Remaining, and X-RateLimit-Reset in seconds from now.
	HeadersXRateLimit
	// HeadersBoth is HeadersStandard and HeadersXRateLimit.
	HeadersBoth
	// HeadersRetryAfterOnly is Retry-After on denials, and nothing else. With it a
	// Middleware copies requests five in one allocation, so that who keeps one keeps
	// up to four others.
	HeadersRetryAfterOnly
)

// The keys are in net/http's canonical form, in which Get, Del and other
// middleware find them. On the wire, case means nothing.
const (
	keyPolicy     = "Ratelimit-Policy"
	keyLimit      = "Ratelimit"
	keyXLimit     = "X-Ratelimit-Limit"
	keyXRemaining = "X-Ratelimit-Remaining"
	keyXReset     = "X-Ratelimit-Reset"
	keyRetryAfter = "Retry-After"
)

// The problem type's title is that of its registration (section 10.2.1), which
// the draft's examples paraphrase.
const (
	quotaExceeded      = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	quotaExceededTitle = "Quota Exceeded"
)

// maxInteger is the greatest Integer of RFC 9651: fifteen digits.
const maxInteger = 999_999_999_999_999

// A policyField is the RateLimit-Policy of policies that apply together, made
// once for all responses that say so. It is empty if there is nothing to tell.
type policyField string

// newPolicyField returns the field of policies, of the parts of combinations.
// Where two would read the same, one is listed.
func newPolicyField(policies []weir.Policy) policyField {
	var items []string
	var list func(policies []weir.Policy)
	list = func(policies []weir.Policy) {
		for _, p := range policies {
			if p.Validate() != nil {
				continue
			}
			l, leaf := p.Limit()
			if !leaf {
				list(p.Parts())
				continue
			}
			if l == weir.Unlimited() {
				continue
			}
			if item := quotaPolicy(p, l); !slices.Contains(items, item) {
				items = append(items, item)
			}
		}
	}
	list(policies)
	return policyField(strings.Join(items, ","))
}

// quotaPolicy returns a Quota Policy Item, section 3.1.
func quotaPolicy(p weir.Policy, l weir.Limit) string {
	quota, window := quotaOf(p, l)
	b := appendString(nil, p.Name())
	b = append(b, ";q="...)
	b = strconv.AppendUint(b, min(quota, maxInteger), 10)
	if window > 0 { // which the draft has neither of 0 nor required
		b = append(b, ";w="...)
		b = strconv.AppendUint(b, min(window, maxInteger), 10)
	}
	return string(b)
}

// quotaOf returns the quota of a limit and its window in seconds.
//
// The draft defines the quota as what a client may consume within the window,
// computes the rate as quota/window (section 8.5), and leaves the rest to the
// algorithm. So the window is the time that the whole capacity takes to come
// back, in whole seconds, and the quota what is earned in it, which is the
// capacity unless the seconds were rounded. Count and period as they were given
// would promise at once what only a longer time grants, or have more
// available than the quota, as soon as the burst is not the count.
func quotaOf(p weir.Policy, l weir.Limit) (quota, window uint64) {
	capacity, count, period := uint64(l.Burst()), uint64(l.Count()), uint64(l.Period())
	if capacity > 0 && p.Algorithm() == weir.AlgorithmLeakyBucket {
		capacity = 1 // what waits in its queue has not passed
	}
	if capacity == 0 || count == 0 {
		return 0, wholeSeconds(period)
	}
	refill := mulDiv(capacity, period, count)
	if refill*count != capacity*period { // the low words differ exactly if it was rounded
		refill++
	}
	window = max(wholeSeconds(refill), 1)
	return mulDiv(count, window*uint64(time.Second), period), window
}

// mulDiv returns a*b/c, rounded down, and at most math.MaxUint64.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := wide.Mul64(a, b)
	if hi >= c {
		return math.MaxUint64
	}
	quotient, _ := wide.Div64(hi, lo, c)
	return quotient
}

// wholeSeconds rounds nanoseconds up: a client that comes a moment early is
// denied once more.
func wholeSeconds(nanos uint64) uint64 {
	seconds := nanos / uint64(time.Second)
	if nanos%uint64(time.Second) != 0 {
		seconds++
	}
	return seconds
}

// Set writes the fields of a decision that a handler made itself, under the
// policies that applied to it, which HeadersStandard lists. Call it before the
// response is begun; [WriteDenied] writes a denial after it.
func (f HeaderFormat) Set(h http.Header, d weir.Decision, policies ...weir.Policy) {
	f.set(h, newPolicyField(policies), &d)
}

// set writes the fields of a decision under the policies that applied to it.
// Those that another middleware wrote before stay beside them: both limits
// hold. Of X-RateLimit, which is no list, the one stays that has less left.
func (f HeaderFormat) set(h http.Header, field policyField, d *weir.Decision) {
	if !d.Allowed {
		setRetryAfter(h, *d)
	}
	if f == HeadersRetryAfterOnly {
		return
	}
	standard, legacy := f != HeadersXRateLimit, f != HeadersStandard
	if d.Policy == "" || d.Limit == math.MaxInt { // nothing applies, or nothing is limited
		if standard {
			addPolicies(h, []string{string(field)})
		}
		return
	}
	left, reset := leftOf(d), resetSeconds(d)
	if legacy = legacy && (!d.Allowed || !hasLessLeft(h, left)); !standard && !legacy {
		return
	}

	// A response has its values for itself, as others may change them in place. They
	// are parts of one string and one array: two allocations.
	var space [160]byte
	b := space[:0]
	if standard {
		b = appendServiceLimit(b, d.Policy, left, reset)
	}
	if !legacy {
		values := &[2]string{string(field), string(b)}
		addPolicies(h, values[0:1:1])
		addValues(h, keyLimit, values[1:2:2])
		return
	}
	end1 := len(b)
	b = strconv.AppendInt(b, int64(max(d.Limit, 0)), 10)
	end2 := len(b)
	b = strconv.AppendUint(b, left, 10)
	end3 := len(b)
	b = strconv.AppendUint(b, reset, 10)
	text := string(b)
	values := &[5]string{string(field), text[:end1], text[end1:end2], text[end2:end3], text[end3:]}
	if standard {
		addPolicies(h, values[0:1:1])
		addValues(h, keyLimit, values[1:2:2])
	}
	h[keyXLimit], h[keyXRemaining], h[keyXReset] = values[2:3:3], values[3:4:4], values[4:5:5]
}

// addPolicies adds a line of policies, unless it is empty or there already.
func addPolicies(h http.Header, line []string) {
	if line[0] != "" && !slices.Contains(h[keyPolicy], line[0]) {
		addValues(h, keyPolicy, line)
	}
}

// appendServiceLimit appends a Service Limit Item, section 4.1.
func appendServiceLimit(b []byte, name string, left, reset uint64) []byte {
	b = appendString(b, name)
	b = append(b, ";r="...)
	b = strconv.AppendUint(b, min(left, maxInteger), 10)
	if reset > 0 { // a window of 0 would have clients divide by it
		b = append(b, ";t="...)
		b = strconv.AppendUint(b, reset, 10)
	}
	return b
}

// appendString appends the String of RFC 9651 that stands for a name, which is
// as well its string in JSON. A String has no room for what is not printable
// ASCII, and the draft no other type for a name: that is percent-encoded, byte
// by byte, and % itself, so that url.PathUnescape gives the name back and two
// names are never the same.
func appendString(b []byte, name string) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	plain := 0 // what of the name comes next and stays as it is
	for i := range len(name) {
		c := name[i]
		switch {
		case c < ' ' || c > '~' || c == '%':
			b = append(append(b, name[plain:i]...), '%', hex[c>>4], hex[c&15])
		case c == '"' || c == '\\':
			b = append(append(b, name[plain:i]...), '\\', c)
		default:
			continue
		}
		plain = i + 1
	}
	return append(append(b, name[plain:]...), '"')
}

// leftOf returns the available quota of the policy that binds. What several
// limits leave together can be more than that one ever grants: where it is only
// tried out, or is one of several ways to pay.
func leftOf(d *weir.Decision) uint64 { return uint64(max(min(d.Remaining, d.Limit), 0)) }

// resetSeconds returns the effective window, section 4.1.2. After a denial it
// ends when Retry-After does: "the Retry-After field value SHOULD NOT reference
// a point in time earlier than the end of the effective window" (section 6), and
// until then the client can have no more.
func resetSeconds(d *weir.Decision) uint64 {
	if d.RetryAfter > 0 && d.RetryAfter != weir.Never {
		return wholeSeconds(uint64(d.RetryAfter))
	}
	return wholeSeconds(uint64(max(d.ResetAfter, 0)))
}

// retrySeconds returns the seconds of Retry-After, and false if there are none.
func retrySeconds(d weir.Decision) (seconds uint64, ok bool) {
	if d.Allowed || d.RetryAfter == weir.Never {
		return 0, false
	}
	return max(wholeSeconds(uint64(max(d.RetryAfter, 0))), 1), true
}

func setRetryAfter(h http.Header, d weir.Decision) {
	if seconds, ok := retrySeconds(d); ok {
		h[keyRetryAfter] = []string{strconv.FormatUint(seconds, 10)}
	}
}

// hasLessLeft reports whether X-RateLimit-Remaining is there, with at most n.
func hasLessLeft(h http.Header, n uint64) bool {
	there := h[keyXRemaining]
	if len(there) == 0 {
		return false
	}
	left, err := strconv.ParseUint(there[0], 10, 64)
	return err == nil && left <= n
}

// addValues adds values to those of a key, without a copy if there are none.
func addValues(h http.Header, key string, values []string) {
	if there := h[key]; len(there) > 0 {
		values = append(slices.Clip(there), values...)
	}
	h[key] = values
}

// appendProblem appends the problem of a denial, section 5.1 and RFC 9457. Its
// policy has the name that the fields have. retry-after, which the draft does
// not know, is absent if seconds is 0.
func appendProblem(b []byte, d weir.Decision, detail string, seconds uint64) []byte {
	b = append(b, `{"type":"`+quotaExceeded+`","title":"`+quotaExceededTitle+`","status":429,"detail":"`...)
	b = append(b, detail...)
	b = append(b, `","violated-policies":[`...)
	if d.Policy != "" {
		b = appendString(b, d.Policy)
	}
	b = append(b, ']')
	if seconds > 0 {
		b = append(b, `,"retry-after":`...)
		b = strconv.AppendUint(b, seconds, 10)
	}
	return append(b, "}\n"...)
}
