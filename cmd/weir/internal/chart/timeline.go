package chart

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Timeline is requests over time, and which of them were denied.
type Timeline struct {
	Title            string
	Start            time.Time
	Width            time.Duration // of a span
	Requests, Denied []uint32      // by span
}

func (t Timeline) title() string { return t.Title }

func (t Timeline) draw(s Size) (height float64, elements []byte) {
	var c canvas
	f := frame{left: 46, top: 50, right: s.Width - 12, bottom: s.Height - 40}
	requests, denied := squeeze(t.Requests, s), squeeze(t.Denied, s)
	width := t.Width * time.Duration(factor(len(t.Requests), s))
	most := uint32(1)
	for _, n := range requests {
		most = max(most, n)
	}
	c.text(f.left-40, 18, "head", "start", fit(t.Title, s))
	c.legend(f.right, 36, [2]string{"good", "admitted"}, [2]string{"bad", "denied"})
	c.text(f.left-40, 34, "label", "start", "requests in "+spell(width))
	y := c.left(f, float64(most), "")
	n := max(len(requests), 1)
	step := f.width() / float64(n)
	gap := min(1, step/5)
	for i, all := range requests {
		x := f.left + float64(i)*step
		c.begin(fmt.Sprintf("%s: %d requests, %d denied", during(t.Start.Add(time.Duration(i)*width), width), all, denied[i]))
		c.rect(x, f.top, step, f.height(), "none", "")
		bad, top := y(float64(denied[i])), y(float64(all))
		if all > denied[i] {
			c.rect(x, top, step-gap, bad-top, "good", "")
		}
		if denied[i] > 0 {
			c.rect(x, min(bad, f.bottom-1), step-gap, max(f.bottom-bad, 1), "bad", "")
		}
		c.end()
	}
	c.times(f, t.Start, width*time.Duration(n), int(f.width()/110)+1)
	return s.Height, c.Bytes()
}

// factor returns how many spans become one where there is little room.
func factor(n int, s Size) int {
	if room := int(s.Width / 4); n > room {
		return (n + room - 1) / room
	}
	return 1
}

// squeeze adds up spans that become one.
func squeeze(values []uint32, s Size) []uint32 {
	k := factor(len(values), s)
	out := make([]uint32, (len(values)+k-1)/k)
	for i, v := range values {
		out[i/k] += v
	}
	return out
}

// fit cuts a title to what has room.
func fit(text string, s Size) string {
	room := int(s.Width / 8.8)
	if runes := []rune(text); len(runes) > room {
		return string(runes[:room-1]) + "…"
	}
	return text
}

// spell writes 15m0s as 15m.
func spell(d time.Duration) string {
	if d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
