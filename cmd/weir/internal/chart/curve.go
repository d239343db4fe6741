package chart

import (
	"fmt"
	"math"
	"strings"
)

// A Curve is what limits deny: of clients, and of requests.
type Curve struct {
	Title  string
	Limit  string // what the limits are, below the axis
	Points []Point
	Mark   int // which of the points is the one; -1 for none
}

// A Point is one limit, and what it denies in percent.
type Point struct {
	Limit             float64 // above 0
	Name              string
	Clients, Requests float64
}

func (v Curve) title() string { return v.Title }

func (v Curve) draw(s Size) (height float64, elements []byte) {
	var c canvas
	f := frame{left: 52, top: 44, right: s.Width - 16, bottom: s.Height - 42}
	c.text(6, 18, "head", "start", fit(v.Title, s))
	c.legend(f.right, 36, [2]string{"bad", "clients denied"}, [2]string{"good", "requests"})
	most := 1.0
	for _, p := range v.Points {
		most = max(most, p.Clients, p.Requests)
	}
	y := c.left(f, most, " %")
	x := v.limits(&c, f)
	if v.Mark >= 0 && v.Mark < len(v.Points) {
		p := v.Points[v.Mark]
		c.line(x(p.Limit), f.top, x(p.Limit), f.bottom, "mark")
		anchor, at := "start", x(p.Limit)+6
		if at > f.left+f.width()/2 {
			anchor, at = "end", x(p.Limit)-6
		}
		c.text(at, f.top+12, "head", anchor, p.Name)
	}
	v.path(&c, "goodline", x, y, func(p Point) float64 { return p.Requests })
	v.path(&c, "badline", x, y, func(p Point) float64 { return p.Clients })
	for _, p := range v.Points {
		c.begin(fmt.Sprintf("%s: %.3g %% of clients denied something, %.3g %% of requests denied", p.Name, p.Clients, p.Requests))
		fmt.Fprintf(&c, `<circle cx="%s" cy="%s" r="3.5" class="good"/>`, num(x(p.Limit)), num(y(p.Requests)))
		fmt.Fprintf(&c, `<circle cx="%s" cy="%s" r="3.5" class="bad"/>`, num(x(p.Limit)), num(y(p.Clients)))
		c.end()
	}
	return s.Height, c.Bytes()
}

// limits draws the axis below, which is logarithmic, and returns where a limit is.
func (v Curve) limits(c *canvas, f frame) (x func(float64) float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range v.Points {
		low, high = min(low, p.Limit), max(high, p.Limit)
	}
	if !(low < high) {
		low, high = low/2, high*2
	}
	x = func(n float64) float64 { return f.left + math.Log(n/low)/math.Log(high/low)*f.width() }
	last := math.Inf(-1)
	for exponent := math.Floor(math.Log10(low)); exponent <= math.Log10(high)+1; exponent++ {
		for _, k := range []float64{1, 2, 5} {
			n := k * math.Pow(10, exponent)
			if n < low*0.999 || n > high*1.001 || x(n) < last+34 {
				continue
			}
			last = x(n)
			c.line(last, f.bottom, last, f.bottom+4, "grid")
			c.text(last, f.bottom+17, "label", "middle", short(n))
		}
	}
	c.text((f.left+f.right)/2, f.bottom+34, "label", "middle", v.Limit)
	return x
}

func (v Curve) path(c *canvas, class string, x, y func(float64) float64, of func(Point) float64) {
	var points []string
	for _, p := range v.Points {
		points = append(points, num(x(p.Limit))+","+num(y(of(p))))
	}
	fmt.Fprintf(c, `<polyline points="%s" class="%s"/>`+"\n", strings.Join(points, " "), class)
}
