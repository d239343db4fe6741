package load

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/dunglas/httpsfv"
)

// A Quota is one that a server advertises in RateLimit-Policy, as in
// draft-ietf-httpapi-ratelimit-headers-11: so many requests in a window.
type Quota struct {
	Name   string
	Count  int64
	Window time.Duration
}

// readQuotas returns the quotas of requests that an answer has, in their order.
func readQuotas(h http.Header) []Quota {
	list, err := httpsfv.UnmarshalList(h.Values("Ratelimit-Policy"))
	if err != nil {
		return nil
	}
	var all []Quota
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		if !ok {
			continue
		}
		name, ok := item.Value.(string)
		if token, isToken := item.Value.(httpsfv.Token); isToken {
			name, ok = string(token), true
		}
		unit, has := item.Params.Get("qu")
		q, w := parameter(item, "q"), parameter(item, "w")
		if ok && q > 0 && w > 0 && w < int64(10*365*24*time.Hour/time.Second) && (!has || unit == "requests") {
			all = append(all, Quota{name, q, time.Duration(w) * time.Second})
		}
	}
	return all
}

func parameter(item httpsfv.Item, name string) int64 {
	value, _ := item.Params.Get(name)
	n, _ := value.(int64)
	return n
}

// merge adds what is new. A quota that changes meanwhile counts as the largest that
// it was, so that nothing is taken for broken that was allowed for a while.
func merge(known, seen []Quota) []Quota {
	for _, q := range seen {
		i := slices.IndexFunc(known, func(k Quota) bool { return k.Name == q.Name && k.Window == q.Window })
		if i < 0 {
			known = append(known, q)
		} else {
			known[i].Count = max(known[i].Count, q.Count)
		}
	}
	return known
}

// retryAfter reads Retry-After, in seconds or as a date (RFC 9110, section 10.2.3).
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// A Check is a quota beside what was admitted.
type Check struct {
	Quota
	Span           time.Duration // in some span of this length
	Admitted, Most int64         // so many were admitted, of at most so many
}

// Kept reports whether no more was admitted than the quota allows.
func (c Check) Kept() bool { return c.Admitted <= c.Most }

// Check compares what was admitted with a quota, in spans of one window, two, four
// and so on, and returns the one that came closest, or went furthest over. However a
// server counts, in windows that begin when they like or in a bucket,
//
//	admitted in any span of k windows <= (k + 1) x count
//
// A request was admitted at some time between being sent and being answered; only
// those count whose both ends are in the span, so that what is over is over.
func (r *Result) Check(q Quota) Check {
	var worst Check
	for k := int64(1); ; k *= 2 {
		span := time.Duration(k) * q.Window
		c := Check{q, span, r.mostWithin(span), (k + 1) * q.Count}
		if k == 1 || c.Admitted*worst.Most > worst.Admitted*c.Most {
			worst = c
		}
		if len(r.Answers) == 0 || span > r.Answers[len(r.Answers)-1].Received {
			return worst
		}
	}
}

// mostWithin returns how many were admitted in the span of some length that has most.
func (r *Result) mostWithin(span time.Duration) int64 {
	var admitted []Answer
	for _, a := range r.Answers {
		if a.Err == nil && !a.Denied {
			admitted = append(admitted, a)
		}
	}
	slices.SortFunc(admitted, func(a, b Answer) int { return int(a.Received - b.Received) })
	most, begin := 0, 0
	for end := range admitted {
		for admitted[end].Received-admitted[begin].Sent > span {
			begin++
		}
		most = max(most, end-begin+1)
	}
	return int64(most)
}
