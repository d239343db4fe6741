package chart

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	noon  = time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)
	nasty = `<script>alert("x & y")</script>`
)

func pictures() []Picture {
	return []Picture{
		Timeline{Title: nasty, Start: noon, Width: time.Minute, Requests: []uint32{10, 0, 4}, Denied: []uint32{3, 0, 4}},
		Curve{Title: nasty, Limit: nasty, Mark: 1, Points: []Point{{1, nasty, 50, 60}, {20, nasty, 0.5, 10}, {300, "c", 0, 0}}},
		Heat{Title: nasty, Start: noon, Width: time.Minute, Rows: []HeatRow{{nasty, []uint32{1, 0, 100}}, {"b", nil}}},
		Timeline{}, Curve{}, Heat{}, Curve{Points: []Point{{5, "one", 0, 0}}},
	}
}

// elements reads a picture as XML and returns how many it has of each element.
func elements(t *testing.T, text string) map[string]int {
	t.Helper()
	found := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return found
		}
		require.NoError(t, err, text)
		if e, ok := token.(xml.StartElement); ok {
			found[e.Name.Local]++
		}
	}
}

func TestPicturesAreWellFormedWhateverIsInThem(t *testing.T) {
	for _, p := range pictures() {
		for _, s := range []Size{Wide, Narrow} {
			text := string(SVG(p, s))
			require.Zero(t, elements(t, text)["script"])
			require.NotContains(t, text, "NaN")
			require.NotContains(t, text, "Inf")
		}
		var file bytes.Buffer
		require.NoError(t, WriteSVG(&file, p))
		require.Equal(t, 1, elements(t, file.String())["style"])
		require.NotContains(t, file.String(), `href`)
	}
}

func TestATimelineTellsItsFigures(t *testing.T) {
	text := string(SVG(pictures()[0], Wide))
	require.Contains(t, text, "<title>17 May 12:00:00 to 12:01:00: 10 requests, 3 denied</title>")
	require.Equal(t, 2, strings.Count(text, `class="bad"`)-1, "two spans with denials, and the legend")
	require.Equal(t, 1, strings.Count(text, `class="good"`)-1, "one with admissions")
}

func TestACurveTellsItsFigures(t *testing.T) {
	require.Contains(t, string(SVG(pictures()[1], Wide)), "0.5 % of clients denied something, 10 % of requests denied</title>")
}

func TestAHeatMapShowsMoreAsMore(t *testing.T) {
	text := string(SVG(pictures()[2], Wide))
	require.Contains(t, text, "17 May 12:02:00 to 12:03:00: 100 denied</title>")
	require.Contains(t, text, `fill-opacity="0.30"`)
	require.Contains(t, text, `fill-opacity="1.00"`)
}

func TestManySpansAreAddedUp(t *testing.T) {
	values := make([]uint32, 481)
	for i := range values {
		values[i] = 1
	}
	sum := uint32(0)
	for _, v := range squeeze(values, Narrow) {
		sum += v
	}
	require.EqualValues(t, 481, sum)
	require.LessOrEqual(t, len(squeeze(values, Narrow)), 90)
}

func TestTicksAreRound(t *testing.T) {
	require.Equal(t, []float64{0, 50, 100, 150}, ticks(133, 4))
	require.Equal(t, []float64{0, 0.5, 1}, ticks(1, 2))
	require.Equal(t, []float64{0, 20, 40, 60, 80}, ticks(67.5, 4))
	require.Equal(t, "12k", short(12000))
	require.Equal(t, "1.5M", short(1.5e6))
}

func TestAPageIsEscapedAndAsksForNothing(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Page{Title: nasty, Lines: []string{nasty}, Table: [][]string{{"", nasty}, {nasty, "1"}}, Pictures: pictures(), Notes: []string{nasty}}.Write(&out))
	require.Equal(t, 1, strings.Count(out.String(), "<script>"))
	require.NotContains(t, out.String(), "http://")
	require.NotContains(t, out.String(), "https://")
	require.NotContains(t, out.String(), "src=")
}
