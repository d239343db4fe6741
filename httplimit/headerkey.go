package httplimit

import (
	"fmt"
	"net/http"
	"net/textproto"
	"strings"
)

// HeaderKey keys a request by a header, an API key for example: by its first
// line, which is what Header.Get returns, so that a client cannot send the key
// that the handler acts on and a second one to be counted under. The value is
// used as it is. One that is empty is a key too, and all who send it share it.
//
// Without the header the result is false: the layer does not apply to the
// request. So a limit by a header is walked around by leaving the header out, or
// by inventing a value for each request. Use it behind a handler that accepts
// known values only, or beside a layer by address that is wide enough for a
// client's honest use. Where a value may be written in several ways, such as the
// scheme of Authorization ("bearer", "Bearer"), each is a key of its own: write a key
// function that returns who the value stands for.
//
// The name is canonicalized. Host, which net/http keeps elsewhere, is
// Request.Host. HeaderKey panics if the name is not one that a header can have.
func HeaderKey(name string) func(*http.Request) (string, bool) {
	name = canonical("HeaderKey", name)
	if name == "Host" {
		return func(r *http.Request) (string, bool) { return r.Host, r.Host != "" }
	}
	return func(r *http.Request) (string, bool) {
		lines := r.Header[name]
		if len(lines) == 0 {
			return "", false
		}
		return lines[0], true
	}
}

// canonical panics rather than look for ever for a header that cannot exist.
func canonical(where, name string) string {
	if name == "" || strings.IndexFunc(name, func(c rune) bool { return c >= 0x80 || !isToken(byte(c)) }) >= 0 {
		panic(fmt.Sprintf("httplimit: %s: %q is not a header's name", where, name))
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}
