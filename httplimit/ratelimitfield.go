package httplimit

import (
	"strings"
	"time"
	"unicode/utf8"
)

// A serviceLimit is what a RateLimit field says, of several items the tightest.
type serviceLimit struct {
	left   int64         // so many requests may come
	within time.Duration // for so long, at most maxHold; 0 if there is no such item
	spare  bool          // each item has something left
}

// readRateLimit reads the lines of a RateLimit field by the algorithms of RFC
// 9651, section 4.2. A malformed one says nothing: one that is no List of Items
// whose r, and t if there is one, are Integers of at least 0. An item without t
// does not say how long its r is true for, and limits nothing.
//
// Of two items the tighter is that with less left, or else for longer.
func readRateLimit(lines []string) serviceLimit {
	l := serviceLimit{spare: true}
	r := fieldReader(strings.Trim(strings.Join(lines, ", "), " "))
	for {
		left, seconds, ok := r.serviceLimit()
		if !ok {
			return serviceLimit{}
		}
		l.spare = l.spare && left > 0
		if within := wholeHold(uint64(seconds)); within > 0 {
			if l.within == 0 || left < l.left || left == l.left && within > l.within {
				l.left, l.within = left, within
			}
		}
		r.skip(" \t")
		if r == "" {
			return l
		}
		if !r.eat(',') {
			return serviceLimit{}
		}
		r.skip(" \t")
	}
}

// A fieldReader is what is yet to be read of a structured field.
type fieldReader string

// serviceLimit reads an Item with its parameters r and t, of which the last
// counts if there are several.
func (r *fieldReader) serviceLimit() (left, seconds int64, ok bool) {
	if _, ok := r.bareItem(); !ok {
		return 0, 0, false
	}
	left = notInteger
	for r.eat(';') {
		r.skip(" ")
		name := r.key()
		value := int64(notInteger) // a parameter without a value is a Boolean
		if r.eat('=') {
			if value, ok = r.bareItem(); !ok {
				return 0, 0, false
			}
		}
		switch name {
		case "":
			return 0, 0, false
		case "r":
			left = value
		case "t":
			seconds = value
		}
	}
	return left, seconds, left >= 0 && seconds >= 0
}

// notInteger stands for a bare item of another type, and is none of its Integers.
const notInteger = -1 << 62

// bareItem reads a bare item of any type, and returns an Integer's value.
func (r *fieldReader) bareItem() (n int64, ok bool) {
	if *r == "" {
		return 0, false
	}
	switch c := (*r)[0]; {
	case c == '-' || isDigit(c):
		return r.number()
	case c == '"':
		return notInteger, r.quoted()
	case c == '*' || isAlpha(c): // a Token
		r.span(func(c byte) bool { return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0 })
		return notInteger, true
	case r.eat(':'): // a Byte Sequence
		r.span(func(c byte) bool { return isAlpha(c) || isDigit(c) || strings.IndexByte("+/=", c) >= 0 })
		return notInteger, r.eat(':')
	case r.eat('?'): // a Boolean
		return notInteger, r.eat('0') || r.eat('1')
	case r.eat('@'): // a Date
		n, ok := r.number()
		return notInteger, ok && n != notInteger
	case r.eat('%'):
		return notInteger, r.displayString()
	}
	return 0, false
}

// number reads an Integer, or a Decimal.
func (r *fieldReader) number() (n int64, ok bool) {
	negative := r.eat('-')
	digits := r.span(isDigit)
	if r.eat('.') {
		fraction := r.span(isDigit)
		return notInteger, 0 < len(digits) && len(digits) <= 12 && 0 < len(fraction) && len(fraction) <= 3
	}
	if len(digits) == 0 || len(digits) > 15 {
		return 0, false
	}
	for i := range len(digits) {
		n = n*10 + int64(digits[i]-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// quoted reads a String.
func (r *fieldReader) quoted() bool {
	s := *r
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			*r = s[i+1:]
			return true
		case c == '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return false
			}
		case c < ' ' || c > '~':
			return false
		}
	}
	return false
}

// displayString reads a Display String after its %: bytes of UTF-8 in quotes, of
// which those are percent-encoded that a String cannot have.
func (r *fieldReader) displayString() bool {
	if !r.eat('"') {
		return false
	}
	const hex = "0123456789abcdef"
	s := *r
	var text []byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			*r = s[i+1:]
			return utf8.Valid(text)
		case c == '%':
			if i+2 >= len(s) {
				return false
			}
			high, low := strings.IndexByte(hex, s[i+1]), strings.IndexByte(hex, s[i+2])
			if high < 0 || low < 0 {
				return false
			}
			text = append(text, byte(high<<4|low))
			i += 2
		case c < ' ' || c > '~':
			return false
		default:
			text = append(text, c)
		}
	}
	return false
}

// key reads a parameter's key, or "" if there is none.
func (r *fieldReader) key() string {
	if s := *r; s == "" || s[0] != '*' && !isLower(s[0]) {
		return ""
	}
	return r.span(func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 })
}

func (r *fieldReader) eat(c byte) bool {
	if *r == "" || (*r)[0] != c {
		return false
	}
	*r = (*r)[1:]
	return true
}

func (r *fieldReader) skip(cutset string) {
	*r = fieldReader(strings.TrimLeft(string(*r), cutset))
}

// span reads the bytes that are in a class.
func (r *fieldReader) span(class func(c byte) bool) string {
	n := 0
	for n < len(*r) && class((*r)[n]) {
		n++
	}
	read := (*r)[:n]
	*r = (*r)[n:]
	return string(read)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isAlpha(c byte) bool { return isLower(c | 0x20) }
