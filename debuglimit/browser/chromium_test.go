package browser_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// A tab is a page of a browser that ends with the test, and whatever its console complained of.
type tab struct {
	context.Context
	t *testing.T

	mu         sync.Mutex
	complaints []string
}

// browse opens a browser of a width, in light or dark, beside those of other tests.
func browse(t *testing.T, width int64, scheme string) *tab {
	t.Helper()
	t.Parallel()
	path, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("WEIR_CHROMIUM") == "" {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	require.NoError(t, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()))
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	b := &tab{Context: ctx, t: t}
	b.do() // starts it
	require.NoError(t, chromedp.Listen(ctx, b.listen))
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(t, err)
	b.do(chromedp.EmulateViewport(width, 900))
	t.Cleanup(func() { require.Empty(t, b.said(), "on the console") })
	return b
}

// listen notes what is printed on the console, what is thrown, and what the browser refuses, such as by the
// page's Content-Security-Policy.
func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.complaints = append(b.complaints, fmt.Sprint(e.Type, e.Args))
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, fmt.Sprint(e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		b.complaints = append(b.complaints, fmt.Sprint(e.Entry.Level, " ", e.Entry.Text, " ", e.Entry.URL))
	}
}

func (b *tab) said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.complaints
}

// forgive forgets complaints that have a certain text, which are as they should be.
func (b *tab) forgive(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = slices.DeleteFunc(b.complaints, func(c string) bool { return strings.Contains(c, text) })
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b, actions...))
}

// eval returns what an expression of the page's is.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err, expression)
	return value
}

// until waits until an expression is true. One that throws, as of an element that is not there, is not.
func (b *tab) until(expression string) {
	b.t.Helper()
	_, err := chromedp.Run(b, chromedp.PollFunction[bool](
		"() => { try { return Boolean("+expression+") } catch { return false } }", chromedp.WithPollingTimeout(20*time.Second)))
	if err != nil {
		b.t.Fatalf("%s: %v; the page says:\n%s", expression, err, eval[string](b, "document.body.innerText"))
	}
}

// shoot returns a picture of the whole page, which it also leaves in the folder SCREENSHOTS.
func (b *tab) shoot(name string) []byte {
	b.t.Helper()
	png, err := chromedp.Run(b, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	if folder := os.Getenv("SCREENSHOTS"); folder != "" {
		require.NoError(b.t, os.WriteFile(folder+"/"+strings.ReplaceAll(name, " ", "-")+".png", png, 0o644))
	}
	return png
}
