package main

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// chromium starts the browser. Where there is none a test is skipped; with
// WEIR_CHROMIUM=1 it fails.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("WEIR_CHROMIUM") == "" {
		t.Skip("no chromium on the PATH")
	}
	require.NoError(t, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...) // in a new, empty folder
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}

// complaints collects what a page says on its console, and what it asks the network for.
type complaints struct {
	mu  sync.Mutex
	all []string
}

func (c *complaints) listen(page string) func(any) {
	return func(event any) {
		text := ""
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			text = "console: " + string(e.Type)
		case *runtime.EventExceptionThrown:
			text = "exception: " + e.ExceptionDetails.Text
		case *log.EventEntryAdded:
			text = "log: " + e.Entry.Text
		case *network.EventRequestWillBeSent:
			if e.Request.URL != page && !strings.HasPrefix(e.Request.URL, "data:") {
				text = "request: " + e.Request.URL
			}
		}
		if text != "" {
			c.mu.Lock()
			c.all = append(c.all, text)
			c.mu.Unlock()
		}
	}
}

func (c *complaints) heard() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// drawn is what a page has of pictures that can be seen.
type drawn struct {
	Pictures, Good, Bad, Cells, Points int
	Overflow                           float64
	Tip                                string
}

const look = `(() => {
	const seen = (what) => [...document.querySelectorAll(what)].filter((e) => e.getBoundingClientRect().width > 0);
	const group = seen("svg .tip")[0], box = group.getBoundingClientRect();
	group.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: box.x + 1, clientY: box.y + 1}));
	return {
		Pictures: seen("svg").length, Good: seen("svg rect.good").length, Bad: seen("svg rect.bad").length,
		Cells: seen("svg rect.cell").length, Points: seen("svg circle").length,
		Overflow: document.documentElement.scrollWidth - innerWidth, Tip: document.getElementById("tip").innerText,
	};
})()`

// show opens a page in a tab of its own.
func show(t *testing.T, browser context.Context, page string, width int64, scheme string) (got drawn, shot []byte, heard []string) {
	t.Helper()
	require.NoError(t, chromedp.Do(browser)) // it lives as long as the context that it is first used with
	tab, closeTab := chromedp.NewContext(browser)
	defer closeTab()
	tab, giveUp := context.WithTimeout(tab, time.Minute)
	defer giveUp()
	var c complaints
	require.NoError(t, chromedp.Listen(tab, c.listen(page)))
	_, err := chromedp.Call(tab, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	_, err = chromedp.Call(tab, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	_, err = chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(tab, chromedp.EmulateViewport(width, 900), chromedp.Navigate(page)))
	got, err = chromedp.Run(tab, chromedp.Evaluate[drawn](look))
	require.NoError(t, err)
	shot, err = chromedp.Run(tab, chromedp.FullScreenshot(100))
	require.NoError(t, err)
	return got, shot, c.heard()
}

// A page that does what none should is caught.
func TestTheBrowserComplains(t *testing.T) {
	ctx := chromium(t)
	page := writeTemp(t, "bad.html", `<!doctype html><div id="tip"></div><svg><g class="tip"><rect width="9" height="9"/></g></svg><img src="http://127.0.0.1:9/x.png">
<script>console.error("hello"); null.x</script>`)
	_, _, heard := show(t, ctx, "file://"+page, 400, "light")
	all := strings.Join(heard, "\n")
	require.Contains(t, all, "console: error")
	require.Contains(t, all, "exception: ")
	require.Contains(t, all, "request: http://127.0.0.1:9/x.png")
}

func TestPagesAreDrawnByABrowser(t *testing.T) {
	ctx := chromium(t)
	dir := t.TempDir()
	const sample = "testdata/access.log.gz"
	weirRun(t, "replay", "-policy", "20/m", "-html", filepath.Join(dir, "replay.html"), sample)
	weirRun(t, "plan", "-html", filepath.Join(dir, "plan.html"), sample)
	weirRun(t, "compare", "-live", "10/m", "-candidate", "sliding-window 20/m", "-html", filepath.Join(dir, "compare.html"), sample)
	for name, want := range map[string]int{"replay": 3, "plan": 3, "compare": 4} {
		page := "file://" + filepath.Join(dir, name+".html")
		for _, width := range []int64{400, 1600} {
			for scheme, back := range map[string]color.RGBA{"light": {0xff, 0xff, 0xff, 0xff}, "dark": {0x14, 0x18, 0x1d, 0xff}} {
				if name != "plan" && (scheme == "dark") != (width == 1600) {
					continue // all four of one page, and each width and scheme of the others
				}
				got, shot, heard := show(t, ctx, page, width, scheme)
				about := name + " " + scheme
				require.Empty(t, heard, about)
				require.Equal(t, want, got.Pictures, about)
				require.Greater(t, got.Good, 20, about)
				require.Greater(t, got.Bad, 2, about)
				require.Greater(t, got.Cells, 3, about)
				if name != "compare" {
					require.Greater(t, got.Points, 8, about)
				}
				require.LessOrEqual(t, got.Overflow, 0.0, "%s at %d is wider than the window", about, width)
				require.Contains(t, got.Tip, "denied", about)
				requireDrawn(t, shot, back, about)
			}
		}
	}
}

// requireDrawn checks that a screenshot has the background it should have, and
// enough of other colours.
func requireDrawn(t *testing.T, shot []byte, back color.RGBA, about string) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(shot))
	require.NoError(t, err)
	size := picture.Bounds()
	plain := image.NewRGBA(size)
	draw.Draw(plain, size, picture, size.Min, draw.Src)
	colours := map[color.RGBA]int{}
	for i := 0; i < len(plain.Pix); i += 4 {
		colours[color.RGBA{plain.Pix[i], plain.Pix[i+1], plain.Pix[i+2], plain.Pix[i+3]}]++
	}
	all := size.Dx() * size.Dy()
	require.Greater(t, colours[back], all/2, about)
	require.Greater(t, all-colours[back], all/100, about)
	require.Equal(t, back, color.RGBAModel.Convert(picture.At(0, 0)), about)
	blue, orange := 0, 0
	for c, n := range colours {
		if c.B > 150 && c.B > c.R+60 {
			blue += n
		}
		if c.R > 150 && c.R > c.B+80 {
			orange += n
		}
	}
	require.Greater(t, blue, 500, "%s: nothing admitted is drawn", about)
	require.Greater(t, orange, 100, "%s: nothing denied is drawn", about)
}
