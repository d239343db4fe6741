package httplimit

import "strings"

// maxAccept is how much of Accept is read. Browsers send some 150 bytes; a
// client may send a megabyte with each request that is denied anyway.
const maxAccept = 1 << 10

// prefersText reports whether a client would rather have text than JSON by all
// lines of its Accept. Each counts with the q of the closest range: for JSON a
// type of JSON, then application/*, then */*; for text text/plain, then another
// type of text, which is read by the same eyes, then */*. A range that does not
// parse is as if it were not there.
func prefersText(accept []string) bool {
	const unsaid = -1
	var (
		jsonType, application = unsaid, unsaid
		plain, text           = unsaid, unsaid
		anything              = unsaid
	)
	left := maxAccept
	for _, line := range accept {
		if len(line) > left { // what is cut off in the middle says something else
			line = line[:max(strings.LastIndexByte(line[:max(left, 0)], ','), 0)]
			left = 0
		}
		left -= len(line) + 1
		for line != "" {
			var element string
			element, line = cutUnquoted(line, ',')
			kind, q, ok := parseRange(element)
			if !ok {
				continue
			}
			closest := (*int)(nil)
			switch {
			case kind == "*/*":
				closest = &anything
			case kind == "text/plain":
				closest = &plain
			case strings.HasPrefix(kind, "text/"):
				closest = &text
			case kind == "application/json" || strings.HasSuffix(kind, "+json"):
				closest = &jsonType
			case kind == "application/*":
				closest = &application
			default:
				continue
			}
			*closest = max(*closest, q)
		}
		if left <= 0 {
			break
		}
	}
	return said(plain, text, anything) > said(jsonType, application, anything)
}

// said returns the first q that the client gave, and 0 if it gave none.
func said(qs ...int) int {
	for _, q := range qs {
		if q >= 0 {
			return q
		}
	}
	return 0
}

// parseRange reads a media range such as text/html;level=1;q=0.5: its type in
// lower case, and its q in thousandths.
func parseRange(s string) (kind string, q int, ok bool) {
	kind, s = cutUnquoted(s, ';')
	q = 1000
	for s != "" {
		var parameter string
		parameter, s = cutUnquoted(s, ';')
		name, value, _ := strings.Cut(parameter, "=")
		if name = trim(name); name == "q" || name == "Q" {
			if q, ok = parseQ(trim(value)); !ok {
				return "", 0, false
			}
		}
	}
	return strings.ToLower(trim(kind)), q, true
}

// parseQ reads a weight, 0 to 1 with at most three digits after the point, in
// thousandths.
func parseQ(s string) (q int, ok bool) {
	if s == "" || len(s) > len("0.000") || s[0] != '0' && s[0] != '1' || len(s) > 1 && s[1] != '.' {
		return 0, false
	}
	q = int(s[0]-'0') * 1000
	for i, unit := 2, 100; i < len(s); i, unit = i+1, unit/10 {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		q += int(s[i]-'0') * unit
	}
	return q, q <= 1000
}

// cutUnquoted cuts s at the first separator outside of quoted strings.
func cutUnquoted(s string, separator byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && c == separator:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// trim takes off what HTTP calls optional white space.
func trim(s string) string { return strings.Trim(s, " \t") }
