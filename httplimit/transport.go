package httplimit

import (
	"cmp"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

// defaultMaxWait is enough for a quota by the minute, which asks for up to 60
// seconds, and for the queue behind it. One by the hour may want a caller to be
// told, and to come back.
const defaultMaxWait = 2 * time.Minute

// A Transport limits what a client sends, waiting its turn, and obeys what the
// servers answer. It is an http.RoundTripper around another:
//
//	client := &http.Client{Transport: &httplimit.Transport{}}
//
// # What it obeys
//
// A 429 or 503 with Retry-After, in seconds or as a date, holds back later
// requests to that host. So does, on any answer, a RateLimit field as in
// draft-ietf-httpapi-ratelimit-headers-11: "policy";r=5;t=30 lets five more go in
// 30 seconds, those included that are under way, or what a newer answer says; of
// several items the one counts that leaves least. Where Retry-After applies,
// RateLimit does not. A 429 that has neither holds for a second, and twice as long
// each time that it comes again, up to a minute. No answer is believed for longer
// than a day, and what is malformed, or RateLimit in an answer from a cache, says
// nothing. A RateLimit with nothing left for t asks for as much on a 200 as on a
// 429.
//
// Answers may come in another order than the server gave them. One replaces what
// those said that had come before its request was sent. Of others all counts.
//
// When a hold ends that somebody waits for, one goes first. The rest follow in the
// order they came when it has been answered without a refusal, as far as its answer
// lets them. If it fails, or has no answer after ten seconds, the next one tries.
//
// # Hosts
//
// Each host is limited by itself, by its name and port as [HostKey] writes them:
// not by what Request.Host says, and after a redirect by where it leads. Nothing
// is kept of a host that asks for nothing and has no requests under way.
//
// # Errors
//
// A request waits within its context. If it would be held back past the deadline
// it fails at once with context.DeadlineExceeded, and with [ErrHeldBack] if that is
// longer than MaxWait. Either is wrapped in a [*WaitError], which says how long it
// would have been; so is the error of a context that ends meanwhile, and of Hosts.
//
// The zero Transport obeys, has no limit of its own and sends nothing twice. It
// is safe for concurrent use, must not be copied after first use, and its fields
// must not be changed then.
type Transport struct {
	// Base sends the requests. If it is nil, http.DefaultTransport does.
	Base http.RoundTripper

	// Hosts is a limit of the client's own, by host as HostKey writes it, which
	// others may use and observe too. A request takes one each time that it is sent,
	// when the server does not hold it back, and waits until there is one. If it is
	// nil there is no such limit.
	Hosts *weir.PerClient[string]

	// Retries is how often a request is sent again after a 429 or 503 with
	// Retry-After, or a 429 with a RateLimit that leaves nothing, or with neither. It
	// must be idempotent, as GET, HEAD, OPTIONS, TRACE, PUT and DELETE are, and what
	// has an Idempotency-Key or X-Idempotency-Key; and have no body, or GetBody.
	//
	// When it cannot wait, or has been refused once more than Retries, RoundTrip
	// returns the answer. Of answers that it does not return it reads up to 64 KiB,
	// for a second at the most, so that the connection can be used again.
	Retries int

	// MaxWait is how long a request is held back at most for what a server asked,
	// all times that it is sent together. Its own turn at Hosts is not counted. If it
	// is 0, that is two minutes; if it is negative, no request is held back: it fails.
	MaxWait time.Duration

	visits atomic.Uint64 // that have begun
	table  hostTable
}

// RoundTrip sends a request when it may be sent, and learns from the answer.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil { // which Base reports
		return t.base().RoundTrip(req)
	}
	v := &visit{ctx: req.Context(), key: HostKey(req.URL), number: t.visits.Add(1), patience: cmp.Or(t.MaxWait, defaultMaxWait)}
	defer t.table.leave(v) // wherever it ends without an answer, be it with a panic
	for again := 0; ; again++ {
		if err := t.wait(v); err != nil {
			closeBody(req)
			return nil, err
		}
		resp, refused, err := t.send(v, req)
		if !refused || again >= t.Retries || !t.table.mayRepeat(v) {
			return resp, err
		}
		next, ok := repeat(req)
		if !ok {
			return resp, nil
		}
		drain(resp)
		req = next
	}
}

// CloseIdleConnections closes those of Base, if it can.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Held returns how long a host, as HostKey writes it, holds requests back yet: 0
// if it does not. Where some may still be sent, it is 0 too.
func (t *Transport) Held(host string) time.Duration { return t.table.held(host) }

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// wait waits until a visit may be sent: first for the host, so that who is held
// back takes nothing of Hosts, and then for its own turn, during which the host
// may have changed its mind.
func (t *Transport) wait(v *visit) error {
	for {
		if err := t.table.enter(v); err != nil {
			return err
		}
		if t.Hosts != nil {
			if err := t.Hosts.Wait(v.ctx, v.key); err != nil {
				return &WaitError{Host: v.key, Err: err}
			}
		}
		if t.table.send(v) {
			return nil
		}
		if t.Hosts != nil {
			t.Hosts.Refund(v.key, 1)
		}
	}
}

// send sends a request whose turn it is. It reports whether it was refused and may
// come again.
func (t *Transport) send(v *visit, req *http.Request) (resp *http.Response, refused bool, err error) {
	resp, err = t.base().RoundTrip(req)
	if err != nil || resp == nil {
		return resp, false, err
	}
	now := time.Now()
	a := readAsk(resp, now)
	t.table.answered(v, a, now)
	return resp, a.refused, nil
}

// repeat returns what sends a request again, unless that would do more than to
// send it once. What else net/http takes for idempotent than RFC 9110 does, counts.
func repeat(req *http.Request) (*http.Request, bool) {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
	default:
		_, ok := req.Header["Idempotency-Key"]
		_, x := req.Header["X-Idempotency-Key"]
		if !ok && !x {
			return nil, false
		}
	}
	if req.Body == nil || req.Body == http.NoBody {
		return req, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	next := req.WithContext(req.Context()) // a copy
	next.Body = body
	return next, true
}

// maxDrain is how much is read of an answer to be able to use its connection
// again, and drainWithin for how long.
const (
	maxDrain    = 64 << 10
	drainWithin = time.Second
)

func drain(resp *http.Response) {
	if resp.Body == nil {
		return
	}
	// Whoever sends it byte by byte must not hold up the next try.
	giveUp := time.AfterFunc(drainWithin, func() { resp.Body.Close() })
	defer giveUp.Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain+1) // one more, to find the end
	resp.Body.Close()
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
