package weir

import (
	"math"
	"strings"
	"time"
)

// guess reads a limit as it is written elsewhere, for an error to show how it is
// written here: "100 per second", "10k/day", "1 every 2.5s", "60rpm". Of a text
// that it does not understand whole, up to what ends a limit, it says nothing.
func guess(text string) (Limit, bool) {
	g := guesser{text: strings.ToLower(text[:min(len(text), 100)])}
	for g.text != "" {
		switch c := g.text[0]; {
		case isDigit(c) || c == '.' && len(g.text) > 1 && isDigit(g.text[1]):
			if !g.number() {
				return Limit{}, false
			}
		case 'a' <= c && c <= 'z' || c >= 0x80:
			word := g.word()
			if word == "as" || word == "queue" {
				return g.limit()
			}
			if !g.meaning(word) {
				return Limit{}, false
			}
		case strings.IndexByte(" \t\r\n/:=+*_-", c) >= 0:
			g.text = g.text[1:]
			if c == '-' && g.text != "" && isDigit(g.text[0]) {
				return Limit{}, false
			}
		case c == ',' && len(g.text) > 1 && isDigit(g.text[1]): // 1,000, or the next part
			return Limit{}, false
		default:
			return g.limit()
		}
	}
	if len(text) > 100 {
		return Limit{}, false
	}
	return g.limit()
}

type guesser struct {
	text     string
	count    ratio
	period   time.Duration
	pending  ratio // a number whose unit comes next
	burst    ratio
	bursting bool // "burst" was read
}

// A ratio is a number as it was written, 15/10 for 1.5; the zero one is none.
type ratio struct{ num, den int64 }

// number reads a number, and returns false if it has no place or is too long to
// compute with.
func (g *guesser) number() bool {
	const large, fine = 1e12, 1e6
	n := ratio{0, 1}
	fraction := false
	i := 0
	for ; i < len(g.text); i++ {
		c := g.text[i]
		followed := i+1 < len(g.text) && isDigit(g.text[i+1])
		switch {
		case isDigit(c) && n.num < large && n.den < fine:
			n.num = n.num*10 + int64(c-'0')
			if fraction {
				n.den *= 10
			}
			continue
		case c == '.' && followed && !fraction:
			fraction = true
			continue
		case isDigit(c) || c == '.':
			return false
		case (c == '_' || c == '\'') && followed:
			continue
		}
		break
	}
	if g.text = g.text[i:]; strings.HasPrefix(g.text, "k") && (len(g.text) == 1 || !isWord(g.text[1])) {
		g.text = g.text[1:]
		n.num *= 1000
	}
	for _, f := range [...]int64{2, 5} {
		for n.num%f == 0 && n.den%f == 0 {
			n.num, n.den = n.num/f, n.den/f
		}
	}
	switch {
	case g.count.den == 0:
		g.count = n
	case g.bursting && g.burst.den == 0:
		g.burst = n
	case g.pending.den == 0 && n.num > 0:
		g.pending = n
	default:
		return false
	}
	return true
}

func (g *guesser) word() string {
	i := 0
	for i < len(g.text) && isWord(g.text[i]) && g.text[i] != '-' && g.text[i] != '_' {
		i++
	}
	word := g.text[:i]
	g.text = g.text[i:]
	return word
}

// meaning puts a word to use, and returns false if it has none.
func (g *guesser) meaning(word string) bool {
	if word == "burst" && !g.bursting {
		g.bursting = true
		return true
	}
	if g.count.den == 0 && (word == "every" || word == "each" || word == "once") {
		g.count = ratio{1, 1}
		return true
	}
	unit := looseUnit(word)
	if unit == 0 {
		unit = looseUnit(strings.TrimSuffix(word, "s"))
	}
	switch {
	case unit == 0 || g.bursting:
		return saysNothing(word)
	case g.pending.den == 0 && g.period != 0: // 10M/s is not per 61 seconds
		return false
	case g.pending.den == 0:
		g.pending = ratio{1, 1}
	}
	g.period = saturatingAdd(g.period, time.Duration(saturatingMul(g.pending.num, int64(unit))/g.pending.den))
	g.pending = ratio{}
	return g.period <= maxSpan
}

// looseUnit knows what others call their units, too.
func looseUnit(word string) time.Duration {
	switch word {
	case "rps", "qps", "tps":
		return time.Second
	case "rpm", "qpm", "minutely":
		return time.Minute
	case "hr", "rph", "hourly":
		return time.Hour
	case "rpd", "daily":
		return 24 * time.Hour
	case "w", "week", "weekly":
		return 7 * 24 * time.Hour
	case "fortnight":
		return 14 * 24 * time.Hour
	case "month", "monthly":
		return 30 * 24 * time.Hour
	case "y", "year", "yearly":
		return 365 * 24 * time.Hour
	case "milli", "millisecond", "msec":
		return time.Millisecond
	case "micro", "microsecond", "usec":
		return time.Microsecond
	case "nano", "nanosecond", "nsec":
		return time.Nanosecond
	}
	return unitOf(word)
}

// saysNothing reports whether a word is one that may stand between a count and its unit.
func saysNothing(word string) bool {
	switch word {
	case "per", "a", "an", "in", "at", "most", "each", "every", "once", "times", "rate", "limit",
		"r", "req", "reqs", "request", "requests", "hits", "calls", "events", "tokens":
		return true
	}
	return false
}

// limit returns what the numbers and words were understood as.
func (g *guesser) limit() (Limit, bool) {
	switch {
	case g.pending.den == 0:
	case g.period != 0:
		return Limit{}, false
	default: // without a unit
		g.meaning("s")
	}
	if g.period == 0 {
		g.period = time.Second
	}
	period := saturatingMul(int64(g.period), g.count.den)
	if g.count.den == 0 || g.count.num > math.MaxInt || period > int64(maxSpan) {
		return Limit{}, false
	}
	l := Per(int(g.count.num), time.Duration(period))
	if g.bursting {
		if g.burst.den != 1 || g.burst.num > math.MaxInt {
			return Limit{}, false
		}
		l = l.WithBurst(int(g.burst.num))
	}
	return l, l.Validate() == nil
}
