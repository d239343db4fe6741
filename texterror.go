package weir

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (p *parser) checkLength() error {
	if len(p.text) > maxText {
		return fmt.Errorf("weir: %s %s: its %d bytes must be at most %d", p.kind, excerpt(p.text, 0), len(p.text), maxText)
	}
	return nil
}

// errorf says what is wrong at some byte, which is the first one for 0.
func (p *parser) errorf(at int, format string, args ...any) error {
	return fmt.Errorf("weir: %s %s at %d: %s", p.kind, excerpt(p.text, at), at+1, fmt.Sprintf(format, args...))
}

// invalid says what Validate did of what begins there.
func (p *parser) invalid(at int, err error) error {
	return p.errorf(at, "%s", strings.TrimPrefix(err.Error(), "weir: "))
}

// limitErrorf is errorf, with the limit that may have been meant.
func (p *parser) limitErrorf(at int, format string, args ...any) error {
	return p.errorf(at, "%s%s", fmt.Sprintf(format, args...), p.suggestion(""))
}

// suggestion names the limit that may have been meant, or says otherwise.
func (p *parser) suggestion(otherwise string) string {
	if l, ok := guess(p.text[p.limitAt:]); ok && l != p.last {
		return `; try "` + l.String() + `"`
	}
	return otherwise
}

// unexpected says what might have been next, up to what ends a part or the
// text, and instead of that is not. What is opened is not closed.
func (p *parser) unexpected(opened int, ends ...string) error {
	var expected []string
	for i, what := range [...]string{`"/"`, `"burst"`, `"queue"`, `"as"`} {
		if p.may&(1<<i) != 0 {
			expected = append(expected, what)
		}
	}
	expected = append(expected, ends...)
	text := expected[0]
	for i, what := range expected[1:] {
		if i+2 < len(expected) {
			text += ", " + what
		} else {
			text += " or " + what
		}
	}
	text = "expected " + text + ", found " + p.found()
	switch {
	case opened >= 0 && p.at == len(p.text):
		text += fmt.Sprintf(`; the "(" at %d is not closed`, opened+1)
	case p.kind == "policy" && p.depth == 0 && p.peek() == ',':
		text += "; put several policies into all(...) or first-of(...)"
	case p.may&neverQueue != 0 && p.word() == "queue":
		text += "; only a leaky-bucket has one"
	}
	if p.may&(maySlash|mayBurst) != 0 {
		return p.limitErrorf(p.at, "%s", text)
	}
	return p.errorf(p.at, "%s", text)
}

// found names the token that begins here: a number, a word or any other byte.
func (p *parser) found() string {
	if p.at == len(p.text) {
		return "the end"
	}
	end := p.at
	for end < len(p.text) && isDigit(p.text[end]) {
		end++
	}
	end = max(end, p.at+len(p.word()), p.at+1)
	return strconv.Quote(shorten(p.text[p.at:end]))
}

func (p *parser) noNumber(start int, what string) error {
	if number, ok := p.negative(); ok {
		return p.errorf(start, "%s of %s: it must not be negative", what, number)
	}
	if what == "count" {
		return p.limitErrorf(start, `expected a limit such as "100/s", "unlimited" or "0", found %s`, p.found())
	}
	return p.limitErrorf(start, "expected a number after %q, found %s", what, p.found())
}

func (p *parser) noUnit(start int, word string, numbered bool) error {
	switch {
	case numbered && word == "":
		return p.limitErrorf(start, "expected a unit such as s, m, h or d after the number, found %s", p.found())
	case word == "":
		return p.limitErrorf(start, "expected a period such as s, m, h, d or 1h30m, found %s", p.found())
	case !numbered:
		if number, ok := p.negative(); ok {
			unit := p.word()
			if unitOf(unit) == 0 {
				unit = ""
			}
			return p.errorf(start, "period of %s%s: it must be positive", number, unit)
		}
	}
	return p.errorf(start, "unknown period %q%s", shorten(word), p.suggestion(": it is s, m, h, d or a duration such as 1h30m"))
}

// negative reads a number below 0, if one begins here, and returns it.
func (p *parser) negative() (string, bool) {
	if p.peek() != '-' {
		return "", false
	}
	from := p.at + 1
	for from < len(p.text) && isSpace(p.text[from]) {
		from++
	}
	to := from
	for to < len(p.text) && isDigit(p.text[to]) {
		to++
	}
	if from == to {
		return "", false
	}
	p.at = to
	return "-" + shorten(p.text[from:to]), true
}

// badName says what is wrong with the string there.
func (p *parser) badName(start int) error {
	quote := p.text[start]
	for i := start + 1; i < len(p.text) && (quote == '`' || p.text[i] != '\n'); i++ {
		switch p.text[i] {
		case quote:
			return p.errorf(start, "the name is not a string as in Go: look at its backslashes")
		case '\\':
			i++
		}
	}
	return p.errorf(start, "the name has no closing %c", quote)
}

// alias returns how an algorithm is written here that other libraries and people
// write otherwise, in lower case and without what joins words; "" for no idea.
func alias(word string) string {
	switch word {
	case "tokenbucket", "token", "gcra":
		return "token-bucket"
	case "leakybucket", "leaky":
		return "leaky-bucket"
	case "fixedwindow", "fixed":
		return "fixed-window"
	case "slidingwindow", "sliding", "slidinglog", "slidingwindowlog":
		return "sliding-window"
	case "slidingcounter", "slidingwindowcounter":
		return "sliding-counter"
	case "all", "allof", "and":
		return "all"
	case "firstof", "first", "any", "anyof", "or":
		return "first-of"
	case "burstreserve":
		return "burst-reserve"
	case "unlimited", "nolimit", "infinite":
		return "unlimited"
	}
	return ""
}

func (p *parser) unknownAlgorithm(word string) error {
	if word == "" {
		return p.errorf(p.at, `expected a policy such as "token-bucket 100/s burst 20", found %s`, p.found())
	}
	text := "unknown algorithm " + strconv.Quote(shorten(word))
	plain := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(shorten(word)))
	if name := alias(plain); name != "" {
		return p.errorf(p.at, "%s; try %q", text, name)
	}
	if l, ok := guess(p.text[p.at:]); ok {
		return p.errorf(p.at, "%s; try %q", text, l)
	}
	return p.errorf(p.at, "%s: it is one of %s, burst-reserve", text, strings.Join(algorithmNames[AlgorithmTokenBucket:], ", "))
}

// shorten returns so much of a token that an error can hold it.
func shorten(token string) string {
	const longest = 32
	if len(token) <= longest {
		return token
	}
	end := longest
	for end > longest-utf8.UTFMax && !utf8.RuneStart(token[end]) {
		end--
	}
	return token[:end] + "..."
}

// excerpt quotes so much of a text around a byte that an error can hold it.
func excerpt(text string, at int) string {
	const longest = 64
	if len(text) <= longest {
		return strconv.Quote(text)
	}
	from := max(0, min(at-longest/2, len(text)-longest))
	to := from + longest
	for range utf8.UTFMax { // no rune in two
		if from > 0 && !utf8.RuneStart(text[from]) {
			from--
		}
		if to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
	}
	quoted := strconv.Quote(text[from:to])
	if from > 0 {
		quoted = "..." + quoted
	}
	if to < len(text) {
		quoted += "..."
	}
	return quoted
}
