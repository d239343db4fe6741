package explain

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir"
)

// Go returns the Go expression that makes a valid policy.
func Go(p weir.Policy) string {
	code := goLeaf(p)
	if parts := p.Parts(); parts != nil {
		texts := make([]string, len(parts))
		for i, part := range parts {
			texts[i] = Go(part)
		}
		name := "weir.All("
		if p.Algorithm() == weir.AlgorithmFirstOf {
			name = "weir.FirstOf("
		}
		code = name + strings.Join(texts, ", ") + ")"
	}
	if unnamed := p.Named(""); p.Name() != unnamed.Name() {
		code += ".Named(" + strconv.Quote(p.Name()) + ")"
	}
	return code
}

func goLeaf(p weir.Policy) string {
	l, _ := p.Limit()
	names := map[weir.Algorithm]string{
		weir.AlgorithmTokenBucket: "TokenBucket", weir.AlgorithmLeakyBucket: "LeakyBucket", weir.AlgorithmFixedWindow: "FixedWindow",
		weir.AlgorithmSlidingWindow: "SlidingWindow", weir.AlgorithmSlidingCounter: "SlidingCounter",
	}
	code := "weir." + names[p.Algorithm()] + "(" + goLimit(l)
	if p.Algorithm() == weir.AlgorithmLeakyBucket {
		// A Policy does not tell its queue, but its text does.
		queue := "0"
		if _, text, ok := strings.Cut(p.Named("").Name(), " queue "); ok {
			queue = text
		}
		code += ", " + queue
	}
	return code + ")"
}

func goLimit(l weir.Limit) string {
	if l == weir.Unlimited() {
		return "weir.Unlimited()"
	}
	if l == (weir.Limit{}) {
		return "weir.Limit{}"
	}
	code := fmt.Sprintf("weir.Per(%d, %s)", l.Count(), goDuration(l.Period()))
	if name, ok := map[time.Duration]string{time.Second: "PerSecond", time.Minute: "PerMinute", time.Hour: "PerHour", 24 * time.Hour: "PerDay"}[l.Period()]; ok {
		code = fmt.Sprintf("weir.%s(%d)", name, l.Count())
	}
	if l.Burst() != l.Count() {
		code += fmt.Sprintf(".WithBurst(%d)", l.Burst())
	}
	return code
}

// goDuration writes a duration in the largest unit that divides it.
func goDuration(d time.Duration) string {
	for _, u := range [...]struct {
		unit time.Duration
		name string
	}{{time.Hour, "time.Hour"}, {time.Minute, "time.Minute"}, {time.Second, "time.Second"}, {time.Millisecond, "time.Millisecond"},
		{time.Microsecond, "time.Microsecond"}} {
		if d == u.unit {
			return u.name
		}
		if d%u.unit == 0 {
			return fmt.Sprintf("%d*%s", d/u.unit, u.name)
		}
	}
	return strconv.FormatInt(int64(d), 10)
}
