package httplimit

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxHold is the longest that an answer is believed, which is enough for a quota
// by the day. After it, one request asks again: a mistaken answer would shut out
// a host for as long as the process runs.
const maxHold = 24 * time.Hour

// An ask is what an answer asks of the requests that come after it.
type ask struct {
	refused bool          // it was one too many, and the same may come again later
	bare    bool          // it was refused without a word about when
	stay    time.Duration // nobody is to come for so long: Retry-After
	serviceLimit
}

// readAsk returns what an answer asks that came at now.
//
// "If a response contains both the RateLimit and Retry-After fields, the
// Retry-After field MUST take precedence" (draft-ietf-httpapi-ratelimit-headers-11,
// section 7), and RateLimit is ignored in what comes from a cache (section 7.3).
func readAsk(resp *http.Response, now time.Time) ask {
	var a ask
	tooMany := resp.StatusCode == http.StatusTooManyRequests
	if tooMany || resp.StatusCode == http.StatusServiceUnavailable {
		if stay, ok := retryAfter(resp.Header, now); ok {
			return ask{refused: true, stay: stay}
		}
	}
	if age := resp.Header.Get("Age"); strings.Trim(age, "0") == "" {
		a.serviceLimit = readRateLimit(resp.Header[keyLimit])
	}
	if tooMany && !a.spare { // else this request is refused, and not its rate: others may come
		a.refused, a.bare = true, a.within == 0 || a.left > 0
	}
	return a
}

// retryAfter returns how long Retry-After says, at most maxHold: in seconds, or
// until a date (RFC 9110, section 10.2.3). The date is compared with that of the
// answer, so that the clocks need not agree.
func retryAfter(h http.Header, now time.Time) (stay time.Duration, ok bool) {
	value := h.Get(keyRetryAfter)
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, _ := strconv.ParseUint(value, 10, 64) // the greatest if there are too many digits
		return wholeHold(seconds), true
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if answered, err := http.ParseTime(h.Get("Date")); err == nil {
		now = answered
	}
	return min(max(date.Sub(now), 0), maxHold), true
}

// wholeHold returns seconds as a Duration, at most maxHold.
func wholeHold(seconds uint64) time.Duration {
	return time.Duration(min(seconds, uint64(maxHold/time.Second))) * time.Second
}
