package chart

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"io"
	"math"
	"strconv"
)

// A Size is that of a picture, in CSS pixels.
type Size struct{ Width, Height float64 }

// The sizes in which a page has each picture; it shows the one that fits.
var (
	Wide   = Size{960, 300}
	Narrow = Size{360, 260}
)

// narrow reports whether there is room for little text.
func (s Size) narrow() bool { return s.Width < 600 }

// A Picture draws itself.
type Picture interface {
	// draw returns the height that it needs, for which s has a proposal, and the
	// elements of an SVG of that size.
	draw(s Size) (height float64, elements []byte)
	title() string
}

// SVG returns a picture as an element for a page that has the style.
func SVG(p Picture, s Size) template.HTML {
	height, elements := p.draw(s)
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %s %s" width="%s" role="img" aria-label="%s">%s</svg>`,
		num(s.Width), num(height), num(s.Width), html.EscapeString(p.title()), elements))
}

// WriteSVG writes a picture as a file that needs nothing else.
func WriteSVG(w io.Writer, p Picture) error {
	height, elements := p.draw(Wide)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="%s">
<style>%s</style>
<rect class="back" width="100%%" height="100%%"/>
%s</svg>
`, num(Wide.Width), num(height), num(Wide.Width), num(height), html.EscapeString(p.title()), style, elements)
	return err
}

// A canvas collects elements.
type canvas struct{ bytes.Buffer }

func (c *canvas) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(c, `<text x="%s" y="%s" class="%s" text-anchor="%s">%s</text>`+"\n", num(x), num(y), class, anchor, html.EscapeString(text))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(c, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`+"\n", num(x1), num(y1), num(x2), num(y2), class)
}

func (c *canvas) rect(x, y, w, h float64, class, more string) {
	fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"%s/>`+"\n", num(x), num(y), num(w), num(h), class, more)
}

// begin begins a group that tells something when it is pointed at.
func (c *canvas) begin(tip string) {
	fmt.Fprintf(c, `<g class="tip"><title>%s</title>`, html.EscapeString(tip))
}

func (c *canvas) end() { c.WriteString("</g>\n") }

// legend names the colours, from the right edge.
func (c *canvas) legend(right, y float64, names ...[2]string) {
	for i := len(names) - 1; i >= 0; i-- {
		class, name := names[i][0], names[i][1]
		right -= 7*float64(len(name)) + 18
		c.rect(right, y-9, 10, 10, class, ` rx="2"`)
		c.text(right+15, y, "label", "start", name)
	}
}

// num writes a coordinate to a tenth of a pixel.
func num(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

// style is that of the pictures.
const style = `
svg { --back: #ffffff; --fore: #1b1f24; --soft: #57606a; --grid: #d8dee4; --good: #4c8fd6; --bad: #d4500c; font: 12px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { svg { --back: #14181d; --fore: #e6edf3; --soft: #9aa4af; --grid: #323a43; --good: #4f8fd0; --bad: #ff8f4a; } }
@media print { svg { --back: #ffffff; --fore: #000000; --soft: #444444; --grid: #cccccc; --good: #4c8fd6; --bad: #d4500c; } }
.back { fill: var(--back); } .head { fill: var(--fore); font-size: 14px; font-weight: 600; } .label { fill: var(--soft); }
.grid { stroke: var(--grid); } .good { fill: var(--good); } .bad { fill: var(--bad); } .none { fill: transparent; }
.goodline, .badline { fill: none; stroke: var(--good); stroke-width: 2; } .badline { stroke: var(--bad); }
.mark { stroke: var(--fore); stroke-dasharray: 3 3; } .tip:hover rect, .tip:hover circle { stroke: var(--fore); }
.cell { fill: var(--bad); } .empty { fill: var(--grid); fill-opacity: .45; }
`
