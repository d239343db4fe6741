package httplimit

import (
	"net/http"
	"strconv"

	"github.com/goweir/weir"
)

// maxUnread is the largest request body that net/http may read after a denial,
// to keep the connection: what most often came along with the head, and is read
// in no time.
const maxUnread = 4 << 10

// WriteDenied answers a request that was denied: 429 Too Many Requests,
// Cache-Control: no-store, and Retry-After in whole seconds unless it is there
// already or no wait would help. A middleware does so on its own; call it for
// decisions made in a handler, which then returns.
//
// The body is an application/problem+json (RFC 9457) of type
// https://iana.org/assignments/http-problem-types#quota-exceeded with the
// members violated-policies, the names of the policies, and retry-after, in
// seconds. A client whose Accept prefers text to JSON gets a line of plain text:
// one that asks for text/plain, and a browser, whose text/html comes before its
// */*. Without a preference it is JSON, and HEAD has no body.
//
// The request's body is not read. Over HTTP/1 one that is large or of unknown
// length ends the connection, as net/http would otherwise take up to 256 KiB of
// it, at the client's pace, before it sends the answer.
func WriteDenied(w http.ResponseWriter, r *http.Request, d weir.Decision) {
	h := w.Header()
	seconds, _ := retrySeconds(d)
	if there := h[keyRetryAfter]; len(there) == 0 {
		setRetryAfter(h, d)
	} else if told, err := strconv.ParseUint(there[0], 10, 64); err == nil {
		seconds = told
	} else { // a date, say
		seconds = 0
	}
	contentType, body := "application/problem+json", []byte(nil)
	if detail := detailOf(d, seconds); prefersText(r.Header["Accept"]) {
		contentType, body = "text/plain; charset=utf-8", appendText(nil, d, detail)
	} else {
		body = appendProblem(nil, d, detail, seconds)
	}
	delete(h, "Content-Length") // of another body that was about to be sent
	h["Content-Type"] = []string{contentType}
	h["Cache-Control"] = []string{"no-store"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	if uploads(r) {
		h["Connection"] = []string{"close"}
	}
	w.WriteHeader(http.StatusTooManyRequests)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that has gone needs no answer
	}
}

func detailOf(d weir.Decision, seconds uint64) string {
	switch {
	case d.RetryAfter == weir.Never:
		return "The request asks for more than the quota ever allows."
	case seconds == 0:
		return "The quota is used up."
	case seconds == 1:
		return "The quota is used up. Retry after 1 second."
	default:
		return "The quota is used up. Retry after " + strconv.FormatUint(seconds, 10) + " seconds."
	}
}

// appendText appends the line for people.
func appendText(b []byte, d weir.Decision, detail string) []byte {
	b = append(b, "Too Many Requests"...)
	if d.Policy != "" {
		b = append(b, " under "...)
		b = strconv.AppendQuote(b, d.Policy)
	}
	b = append(b, ". "...)
	b = append(b, detail...)
	return append(b, '\n')
}

// uploads reports whether the request brings a body that is not worth the wait.
// EnableFullDuplex, which sends the answer first and keeps the connection, is no
// way around it: once the body ends after the handler, net/http reads the
// connection twice at a time and panics (golang/go#68560).
func uploads(r *http.Request) bool {
	return r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ContentLength > maxUnread)
}
