package weir

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// A parser reads a text token by token, by the grammar of ParsePolicy: a method
// for each rule, none of which looks further ahead than a token.
type parser struct {
	kind  string // what the text is: "limit" or "policy"
	text  string
	at    int // where it has come to
	depth int // parentheses that are open

	// For errors: where the last limit begins, what it was read as, and what
	// might have been next.
	limitAt int
	last    Limit
	may     follower
}

// A follower is a set of what may follow, beside what ends a part or the text.
type follower uint8

const (
	maySlash follower = 1 << iota
	mayBurst
	mayQueue
	mayAs
	neverQueue
)

func (p *parser) limit() (Limit, error) {
	p.limitAt, p.last, p.may = p.skip(), Limit{}, 0
	if p.acceptWord("unlimited") {
		p.last = Unlimited()
		return p.last, nil
	}
	count, err := p.number("count")
	if err != nil {
		return Limit{}, err
	}
	zero := p.text[p.limitAt:p.at] == "0"
	if !p.accept('/') {
		if zero {
			p.may = maySlash
			return Limit{}, nil
		}
		return Limit{}, p.limitErrorf(p.skip(), `expected "/" and a period, found %s`, p.found())
	}
	period, err := p.period()
	if err != nil {
		return Limit{}, err
	}
	l := Per(count, period)
	if p.acceptWord("burst") {
		burst, err := p.number("burst")
		if err != nil {
			return Limit{}, err
		}
		l = l.WithBurst(burst)
	} else {
		p.may = mayBurst
	}
	if err := l.Validate(); err != nil {
		return Limit{}, p.invalid(p.limitAt, err)
	}
	p.last = l
	return l, nil
}

// period reads a unit, or numbers with a unit each.
func (p *parser) period() (time.Duration, error) {
	start := p.skip()
	if !p.atDigit() {
		return p.unit(false)
	}
	var period time.Duration
	for p.atDigit() {
		n, _ := p.digits() // of those that are too large the largest, which is too long too
		unit, err := p.unit(true)
		if err != nil {
			return 0, err
		}
		period = saturatingAdd(period, time.Duration(saturatingMul(n, int64(unit))))
		p.skip()
	}
	switch {
	case period == 0:
		return 0, p.errorf(start, "period of 0s: it must be positive")
	case period > maxSpan:
		return 0, p.errorf(start, "period of %s: it must be at most 30 years (%v)",
			strconv.Quote(shorten(strings.TrimSpace(p.text[start:p.at]))), maxSpan)
	}
	return period, nil
}

// unit reads a unit after a number, or one that stands alone.
func (p *parser) unit(numbered bool) (time.Duration, error) {
	start := p.skip()
	word := p.word()
	if unit := unitOf(word); unit > 0 {
		p.at += len(word)
		return unit, nil
	}
	return 0, p.noUnit(start, word, numbered)
}

func unitOf(word string) time.Duration {
	switch word {
	case "s", "sec", "second":
		return time.Second
	case "m", "min", "minute":
		return time.Minute
	case "h", "hour":
		return time.Hour
	case "d", "day":
		return 24 * time.Hour
	case "ms":
		return time.Millisecond
	case "us", "\u00b5s", "\u03bcs": // the micro sign and the letter
		return time.Microsecond
	case "ns":
		return time.Nanosecond
	}
	return 0
}

func (p *parser) policy() (Policy, error) {
	start := p.skip()
	policy, err := p.unnamed()
	if err != nil {
		return Policy{}, err
	}
	if err := policy.Validate(); err != nil {
		return Policy{}, p.invalid(start, err)
	}
	if p.acceptWord("as") {
		name, err := p.name()
		if err != nil {
			return Policy{}, err
		}
		// Nobody else has seen it yet: no need for Named's copy.
		if policy.name = name; policy.ahead != nil {
			policy.ahead.name = name
		}
		p.may = 0
	}
	return policy, nil
}

func (p *parser) unnamed() (Policy, error) {
	word := p.word()
	switch {
	case word == "unlimited" || p.atDigit() || p.atSign():
		return p.leaf(AlgorithmTokenBucket)
	case word == "burst-reserve":
		p.at += len(word)
		return p.burstReserve()
	}
	for a := AlgorithmTokenBucket; a <= AlgorithmFirstOf; a++ {
		if word != algorithmNames[a] {
			continue
		}
		p.at += len(word)
		if a >= AlgorithmAll {
			return p.combination(a)
		}
		return p.leaf(a)
	}
	return Policy{}, p.unknownAlgorithm(word)
}

func (p *parser) leaf(a Algorithm) (Policy, error) {
	if p.skip(); p.peek() == '(' {
		return Policy{}, p.errorf(p.at, `%s takes its limit without parentheses, as in "%[1]s 100/s"`, a)
	}
	l, err := p.limit()
	if err != nil {
		return Policy{}, err
	}
	queue := 0
	if a == AlgorithmLeakyBucket {
		p.may |= mayQueue
		if p.acceptWord("queue") {
			if queue, err = p.number("queue"); err != nil {
				return Policy{}, err
			}
			p.may = 0
		}
	} else {
		p.may |= neverQueue
	}
	p.may |= mayAs
	return newLeaf(a, l, queue), nil
}

func (p *parser) burstReserve() (Policy, error) {
	opened, err := p.open()
	if err != nil {
		return Policy{}, err
	}
	sustained, err := p.limit()
	if err != nil {
		return Policy{}, err
	}
	if !p.accept(',') {
		return Policy{}, p.unexpected(opened, `"," and a second limit`)
	}
	reserve, err := p.limit()
	if err != nil {
		return Policy{}, err
	}
	if err := p.close(opened, `")"`); err != nil {
		return Policy{}, err
	}
	return BurstReserve(sustained, reserve), nil
}

func (p *parser) combination(a Algorithm) (Policy, error) {
	opened, err := p.open()
	if err != nil {
		return Policy{}, err
	}
	var few [4]Policy
	parts := few[:0]
	for {
		part, err := p.policy()
		if err != nil {
			return Policy{}, err
		}
		parts = append(parts, part)
		if !p.accept(',') {
			break
		}
	}
	if err := p.close(opened, `","`, `")"`); err != nil {
		return Policy{}, err
	}
	if a == AlgorithmAll {
		return All(parts...), nil
	}
	return FirstOf(parts...), nil
}

// open reads "(" and returns where it is.
func (p *parser) open() (int, error) {
	start := p.skip()
	if !p.accept('(') {
		return 0, p.errorf(start, `expected "(", found %s`, p.found())
	}
	if p.depth++; p.depth > maxDepth {
		return 0, p.errorf(start, "parentheses are nested more than %d deep", maxDepth)
	}
	return start, nil
}

func (p *parser) close(opened int, expected ...string) error {
	if !p.accept(')') {
		return p.unexpected(opened, expected...)
	}
	p.depth--
	p.may = mayAs
	return nil
}

// end reads nothing and wants nothing to be left.
func (p *parser) end() error {
	if p.skip() < len(p.text) {
		return p.unexpected(-1, "the end")
	}
	return nil
}

// name reads a string as in Go.
func (p *parser) name() (string, error) {
	start := p.skip()
	if c := p.peek(); c != '"' && c != '`' {
		return "", p.errorf(start, `expected a name in double quotes after "as", found %s`, p.found())
	}
	quoted, err := strconv.QuotedPrefix(p.text[start:])
	if err != nil {
		return "", p.badName(start)
	}
	p.at += len(quoted)
	name, _ := strconv.Unquote(quoted)
	if name == "" {
		return "", p.errorf(start, `expected a name that is not empty; leave out "as" for none`)
	}
	return strings.Clone(name), nil // not to keep the whole text
}

// number reads a whole number that is not negative.
func (p *parser) number(what string) (int, error) {
	start := p.skip()
	if p.atDigit() {
		n, ok := p.digits()
		if !ok || n > math.MaxInt {
			return 0, p.errorf(start, "%s of %s: it must be at most %d", what, shorten(p.text[start:p.at]), math.MaxInt)
		}
		return int(n), nil
	}
	return 0, p.noNumber(start, what)
}

// digits reads them, and returns false and the largest number if it is larger
// than that.
func (p *parser) digits() (n int64, ok bool) {
	ok = true
	for ; p.atDigit(); p.at++ {
		digit := int64(p.text[p.at] - '0')
		if n > (math.MaxInt64-digit)/10 {
			n, ok = math.MaxInt64, false
		}
		if ok {
			n = n*10 + digit
		}
	}
	return n, ok
}

// skip goes on to the next token and returns where it begins.
func (p *parser) skip() int {
	for p.at < len(p.text) && isSpace(p.text[p.at]) {
		p.at++
	}
	return p.at
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// peek returns the byte it has come to, 0 for the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) atDigit() bool { return isDigit(p.peek()) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// atSign reports whether something like a number begins here.
func (p *parser) atSign() bool { return strings.IndexByte("+-.", p.peek()) >= 0 }

// accept reads c if it is next.
func (p *parser) accept(c byte) bool {
	p.skip()
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

// word returns the word that begins here, and does not read it.
func (p *parser) word() string {
	end := p.at
	for end < len(p.text) && isWord(p.text[end]) {
		end++
	}
	return p.text[p.at:end]
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_' || c >= 0x80
}

// acceptWord reads word if it is next.
func (p *parser) acceptWord(word string) bool {
	rest := p.text[p.skip():]
	if !strings.HasPrefix(rest, word) || len(rest) > len(word) && isWord(rest[len(word)]) {
		return false
	}
	p.at += len(word)
	return true
}
