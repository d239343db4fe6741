package httplimit

import "strings"

// maxRead is how many bytes of a header are read at most, from the right: room for
// 70 hops of the longest addresses, and for what a proxy copies from a long Host
// into an element of Forwarded.
const maxRead = 4096

// elements are those of a header that is a list, from the right: of all lines, as
// if they were joined by commas.
type elements struct {
	lines  []string // not begun
	line   string   // what is left of the one that is being read
	inLine bool     // whether line holds another element, if an empty one
	quotes bool     // whether a comma may stand in a quoted string
	budget int      // bytes that may still be read
}

// previous returns the element left of the one before, without the space around
// it, and "", which is no address, where the budget does not suffice.
func (e *elements) previous() (element string, ok bool) {
	if !e.inLine {
		if len(e.lines) == 0 {
			return "", false
		}
		last := len(e.lines) - 1
		e.line, e.lines = e.lines[last], e.lines[:last]
	}
	seen := e.line[max(0, len(e.line)-e.budget):]
	comma := strings.LastIndexByte(seen, ',')
	if e.quotes {
		comma = lastComma(seen)
	}
	if comma < 0 && len(e.line) >= e.budget { // an element is paid for with the comma before it
		e.budget = 0
		return "", true
	}
	element = seen[comma+1:]
	e.budget -= len(element) + 1
	if e.inLine = comma >= 0; e.inLine {
		e.line = e.line[:len(e.line)-len(element)-1]
	}
	return strings.Trim(element, " \t"), true
}

// lastComma returns the last one outside quoted strings, or -1.
//
// It reads from the right, so that nothing further left, where a client may have
// opened a quoted string and not closed it, changes what it finds in what a proxy
// appended. A quote is escaped if an odd number of backslashes stands before
// it: that is exact in what is well formed, since backslashes occur in quoted
// strings only and none of these begins after one.
func lastComma(s string) int {
	quoted := false
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ',':
			if !quoted {
				return i
			}
		case '"':
			before := strings.TrimRight(s[:i], `\`)
			if (i-len(before))%2 == 0 {
				quoted = !quoted
			}
		}
	}
	return -1
}

// forParameter returns the value of an element's only for=, without quotes, and "",
// which is no address, if it has none or several or is malformed anywhere: then it
// was not written by a proxy that can be relied upon.
//
// It is more lenient than RFC 7239 in two ways that proxies have: space around a
// semicolon, and an address with colons and brackets that is not quoted.
func forParameter(element string) string {
	node, found := "", false
	for element != "" {
		if element[0] == ';' { // pairs may be empty
			element = strings.TrimLeft(element[1:], " \t")
			continue
		}
		i := 0
		for i < len(element) && isToken(element[i]) {
			i++
		}
		name := element[:i]
		if name == "" || i == len(element) || element[i] != '=' {
			return ""
		}
		value, rest, ok := parameterValue(element[i+1:])
		if !ok {
			return ""
		}
		element = strings.TrimLeft(rest, " \t")
		if element != "" && element[0] != ';' {
			return ""
		}
		if strings.EqualFold(name, "for") {
			if found {
				return ""
			}
			node, found = value, true
		}
	}
	return node
}

// parameterValue splits s after a value at its beginning. What is escaped in a
// quoted one stays so: no address needs it.
func parameterValue(s string) (value, rest string, ok bool) {
	if s != "" && s[0] == '"' {
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '"':
				return s[1:i], s[i+1:], true
			case '\\':
				i++
			}
		}
		return "", "", false
	}
	i := 0
	for i < len(s) && s[i] > ' ' && s[i] < 0x7f && s[i] != ';' && s[i] != ',' && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return s[:i], s[i:], i > 0
}

// isToken reports whether c may stand in a token of RFC 9110.
func isToken(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c != 0 && strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
