package main

import (
	"bytes"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// A chart is horizontal bars: for each name one of each series.
type chart struct {
	file, title, unit string
	names             []string
	series            []series
}

type series struct {
	label  string
	values []float64
}

// weir's bars, and those of the others, by series.
var (
	warm = []color.Color{color.RGBA{0xd9, 0x48, 0x0f, 0xff}, color.RGBA{0xf0, 0x8c, 0x4b, 0xff}, color.RGBA{0xf7, 0xc2, 0x9c, 0xff}}
	cool = []color.Color{color.RGBA{0x1f, 0x5f, 0x8b, 0xff}, color.RGBA{0x7f, 0xae, 0xcf, 0xff}, color.RGBA{0xc3, 0xd9, 0xe8, 0xff}}
)

const barWidth = vg.Length(9)

// write draws the chart into a folder. The first name is on top.
func (c chart) write(folder string) error {
	p := plot.New()
	p.Title.Text = c.title
	p.X.Label.Text = c.unit
	p.Y.Label.Text = " " // a margin for the names
	p.Legend.Top = true
	p.Legend.Padding = 12
	grid := plotter.NewGrid()
	grid.Horizontal.Width = 0
	p.Add(grid)

	names := make([]string, len(c.names))
	for i, name := range c.names {
		names[len(names)-1-i] = name + strings.Repeat(" ", len(name)/4) // a margin, where the font is a wider one
	}
	p.NominalY(names...)
	var most float64
	for i, s := range c.series {
		most = max(most, slices.Max(s.values))
		if err := c.bars(p, i); err != nil {
			return err
		}
	}
	p.X.Min, p.X.Max = 0, max(1, most)*1.12                       // room for the numbers
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4+legend(p, c) // and for the legend
	height := vg.Length(len(names))*(barWidth*vg.Length(len(c.series))+8) + 100
	drawn, err := p.WriterTo(620, height, "svg")
	if err != nil {
		return err
	}
	var svg bytes.Buffer
	if _, err := drawn.WriteTo(&svg); err != nil {
		return err
	}
	// Fonts of the same widths, of which every reader has one.
	text := bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
	return os.WriteFile(filepath.Join(folder, c.file+".svg"), text, 0o644)
}

func init() {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plotter.DefaultFont = plot.DefaultFont
}

// legend returns how many rows to leave for it. One series needs none.
func legend(p *plot.Plot, c chart) float64 {
	if len(c.series) == 1 {
		p.Legend = plot.NewLegend()
		return 0
	}
	return 0.35 * float64(len(c.series))
}

// bars adds one series, the first as the upper bars, each with its value beside
// it.
func (c chart) bars(p *plot.Plot, i int) error {
	offset := barWidth * (vg.Length(len(c.series)-1)/2 - vg.Length(i))
	ours, others := make(plotter.Values, len(c.names)), make(plotter.Values, len(c.names))
	numbers := plotter.XYLabels{}
	for j, value := range c.series[i].values {
		y := len(c.names) - 1 - j
		if isWeir(c.names[j]) {
			ours[y] = value
		} else {
			others[y] = value
		}
		numbers.XYs = append(numbers.XYs, plotter.XY{X: value, Y: float64(y)})
		numbers.Labels = append(numbers.Labels, number(value))
	}
	for _, group := range []struct {
		values plotter.Values
		color  color.Color
	}{{ours, warm[i]}, {others, cool[i]}} {
		bars, err := plotter.NewBarChart(group.values, barWidth)
		if err != nil {
			return err
		}
		bars.Horizontal = true
		bars.Offset = offset
		bars.Color = group.color
		bars.LineStyle.Width = 0
		p.Add(bars)
		if group.color == cool[i] {
			p.Legend.Add(c.series[i].label+"   ", bars)
		}
	}
	labels, err := plotter.NewLabels(numbers)
	if err != nil {
		return err
	}
	for j := range labels.TextStyle {
		labels.TextStyle[j].Font.Size = 7
	}
	labels.Offset.X = 2
	labels.Offset.Y = offset - 3
	p.Add(labels)
	return nil
}

func number(value float64) string {
	if value >= 1000 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}
