package chart

import (
	"fmt"
	"math"
	"time"
)

// A Heat is who was denied when.
type Heat struct {
	Title string
	Start time.Time
	Width time.Duration // of a span
	Rows  []HeatRow
}

// A HeatRow is one client.
type HeatRow struct {
	Name   string
	Denied []uint32 // by span
}

func (h Heat) title() string { return h.Title }

const rowHeight = 20

func (h Heat) draw(s Size) (height float64, elements []byte) {
	var c canvas
	f := frame{left: 170, top: 30, right: s.Width - 12, bottom: 30 + rowHeight*float64(len(h.Rows))}
	if s.narrow() {
		f.left = 120
	}
	c.text(6, 18, "head", "start", fit(h.Title, s))
	most, spans := uint32(1), 1
	room := Size{Width: f.width() / 2.5} // cells are wider than bars
	rows := make([][]uint32, len(h.Rows))
	k := 1
	for i, row := range h.Rows {
		k = factor(len(row.Denied), room)
		rows[i] = squeeze(row.Denied, room)
		spans = max(spans, len(rows[i]))
		for _, n := range rows[i] {
			most = max(most, n)
		}
	}
	width := h.Width * time.Duration(k)
	step := f.width() / float64(spans)
	for i, row := range rows {
		y := f.top + rowHeight*float64(i)
		c.text(f.left-8, y+14, "label", "end", fit(h.Rows[i].Name, Size{Width: 8 * f.left / 6}))
		c.rect(f.left, y+1, f.width(), rowHeight-2, "empty", ` rx="2"`)
		for j, n := range row {
			if n == 0 {
				continue
			}
			c.begin(fmt.Sprintf("%s, %s: %d denied", h.Rows[i].Name, during(h.Start.Add(time.Duration(j)*width), width), n))
			c.rect(f.left+float64(j)*step, y+1, max(step, 2), rowHeight-2, "cell", fmt.Sprintf(` fill-opacity="%s"`, num2(strength(n, most))))
			c.end()
		}
	}
	c.times(f, h.Start, width*time.Duration(spans), int(f.width()/110)+1)
	return f.bottom + 40, c.Bytes()
}

// strength is how much colour a number of denials gets: by its logarithm, as some
// clients have thousands of times as many as others.
func strength(n, most uint32) float64 {
	if most <= 1 {
		return 1
	}
	return 0.3 + 0.7*math.Log(float64(n))/math.Log(float64(most))
}

func num2(x float64) string { return fmt.Sprintf("%.2f", x) }
