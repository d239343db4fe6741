package chart

import (
	"math"
	"strconv"
	"time"
)

// A frame is where a chart draws, inside of its labels.
type frame struct{ left, top, right, bottom float64 }

func (f frame) width() float64  { return f.right - f.left }
func (f frame) height() float64 { return f.bottom - f.top }

// ticks returns at most n+1 round numbers from 0 to at least most.
func ticks(most float64, n int) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(max(most, 1e-9)/float64(n))))
	for _, k := range []float64{1, 2, 5, 10} {
		if k*step*float64(n) >= most {
			step *= k
			break
		}
	}
	var all []float64
	for i := 0; ; i++ {
		all = append(all, float64(i)*step)
		if float64(i)*step >= most {
			return all
		}
	}
}

// left draws an axis of values to the left of a frame, and returns where a value is.
func (c *canvas) left(f frame, most float64, unit string) (y func(float64) float64) {
	all := ticks(most, 4)
	top := all[len(all)-1]
	y = func(v float64) float64 { return f.bottom - v/top*f.height() }
	for _, v := range all {
		c.line(f.left, y(v), f.right, y(v), "grid")
		c.text(f.left-6, y(v)+4, "label", "end", short(v)+unit)
	}
	return y
}

// short writes 12000 as 12k.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// timeSteps are what an axis of time may have between two labels.
var timeSteps = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day, 30 * day, 90 * day, 365 * day, 3650 * day,
}

const day = 24 * time.Hour

// times draws an axis of time below a frame.
func (c *canvas) times(f frame, start time.Time, span time.Duration, most int) {
	if span <= 0 {
		return
	}
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if span/s < time.Duration(most) {
			step = s
			break
		}
	}
	format := "15:04:05"
	if step >= time.Minute {
		format = "15:04"
	}
	shown := ""
	for at := start.Truncate(step); !at.After(start.Add(span)); at = at.Add(step) {
		if at.Before(start) {
			continue
		}
		x := f.left + float64(at.Sub(start))/float64(span)*f.width()
		c.line(x, f.bottom, x, f.bottom+4, "grid")
		label, date := at.Format(format), at.Format("2 Jan")
		if step >= day {
			label = date
		}
		anchor := "middle"
		if x > f.right-20 {
			anchor = "end"
		}
		c.text(x, f.bottom+17, "label", anchor, label)
		if date != shown && step < day {
			c.text(x, f.bottom+31, "label", anchor, date)
		}
		shown = date
	}
}

// during writes a span of time.
func during(start time.Time, width time.Duration) string {
	end := start.Add(width)
	format := "15:04:05"
	if start.Truncate(day) != end.Truncate(day) {
		format = "2 Jan 15:04:05"
	}
	return start.Format("2 Jan 15:04:05") + " to " + end.Format(format)
}
