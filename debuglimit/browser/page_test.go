package browser_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/png"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/goweir/weir"
	"github.com/goweir/weir/debuglimit"
	"github.com/stretchr/testify/require"
)

// A service has limits, and a page that shows them.
type service struct {
	*httptest.Server
	page   debuglimit.Page
	shared *weir.Limiter
	users  *weir.PerClient[string]
}

func serve(t *testing.T) *service {
	s := &service{
		shared: weir.New(weir.TokenBucket(weir.PerHour(1000))),
		users:  weir.NewPerClient[string](weir.TokenBucket(weir.PerMinute(60).WithBurst(20)), weir.WithTopDenied(10)),
	}
	s.page.Add("everybody", debuglimit.Limiter(s.shared))
	s.page.Add("<b>users</b>", debuglimit.PerClient(s.users, debuglimit.Strings()))
	s.page.AddLayers("search", weir.NewLayers(weir.Global[string](s.shared), weir.By(s.users, func(u string) (string, bool) { return u, true })))
	s.Server = httptest.NewServer(&s.page)
	t.Cleanup(s.Close)
	t.Cleanup(s.page.Close)
	return s
}

// load has two users ask until the test ends: one too much, whose name is markup.
func (s *service) load(t *testing.T) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			s.shared.Allow()
			s.users.Allow("ann")
			for range 10 {
				s.users.Allow("<i>bob</i>")
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-done:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(done)
		<-ended
	})
}

// cell is the text of a cell of a limiter's row.
func cell(row, cell int) string {
	return fmt.Sprintf(`document.querySelectorAll("#limiters > tbody > tr")[%d].children[%d].textContent`, row, cell)
}

func TestThePageShowsWhatIsDeniedNow(t *testing.T) {
	s := serve(t)
	s.load(t)
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(s.URL))
	b.until(`document.querySelector("#status").textContent === "Live"`)
	b.until(cell(1, 3) + ` > 50`)
	first := eval[string](b, `document.querySelector(".bar.denied").getAttribute("d") + document.querySelectorAll(".bar.denied")[1].getAttribute("d")`)
	require.Contains(t, first, "M59 ", "the newest second")
	b.until(`document.querySelectorAll(".bar.denied")[1].getAttribute("d").includes("M58 ")`)
	require.Equal(t, "<b>users</b>", eval[string](b, `document.querySelectorAll(".name")[1].textContent`))
	require.Equal(t, "–", eval[string](b, cell(0, 5)), "a limiter that all share has no clients")
	require.Equal(t, "2", eval[string](b, cell(1, 5)))

	b.do(chromedp.Click(`//button[.="<b>users</b>"]`))
	b.until(`document.querySelector(".top tbody td").textContent === "<i>bob</i>"`)
	require.Contains(t, eval[string](b, `document.querySelector(".more").innerText`), "token-bucket 60/m burst 20")
	require.Equal(t, "search", eval[string](b, `document.querySelector("[data-of=layers]").textContent`))
	b.until(`document.querySelector(".top tbody td.denies").textContent > 100`)

	b.do(chromedp.SendKeys(`input[name=key]`, "<i>bob</i>"+kb.Enter))
	b.until(`document.querySelector(".verdict").textContent.startsWith("<i>bob</i>: denied by token-bucket 60/m burst 20, allowed again in")`)
	b.until(`document.querySelector("figure path").getAttribute("d").split("V").length === 22`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("input[name=key]").value = ""`), chromedp.SendKeys(`input[name=key]`, "nobody"+kb.Enter))
	b.until(`document.querySelector(".verdict").textContent === "nobody: allowed, 20 left, full"`)
	require.Equal(t, "nobody: allowed, 20 left, full", eval[string](b, `document.querySelector(".spoken").textContent`))
	b.until(`document.querySelector("figure").hidden`)
}

// TestThePageFitsAndIsDrawn at the widths of a telephone and of a large screen, in light and dark.
func TestThePageFitsAndIsDrawn(t *testing.T) {
	s := serve(t)
	s.load(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{400, 1600} {
			t.Run(fmt.Sprint(scheme, " ", width), func(t *testing.T) {
				b := browse(t, width, scheme)
				b.do(chromedp.Navigate(s.URL))
				b.until(cell(1, 3) + ` > 50`)
				b.do(chromedp.Click(`//button[.="<b>users</b>"]`), chromedp.SendKeys(`input[name=key]`, "<i>bob</i>"+kb.Enter))
				b.until(`document.querySelector("figure path").getAttribute("d")`)
				b.until(`document.querySelectorAll(".bar.denied")[1].getAttribute("d").includes("M55 ")`)
				require.Equal(t, width, eval[int64](b, `document.documentElement.scrollWidth`), "nothing sticks out")
				picture, _, err := image.Decode(bytes.NewReader(b.shoot(t.Name()[len("TestThePageFitsAndIsDrawn/"):])))
				require.NoError(t, err)
				paper := color.GrayModel.Convert(picture.At(1, 1)).(color.Gray).Y
				require.Equal(t, scheme == "dark", paper < 128)
				require.Greater(t, reds(picture), 200, "pixels of what was denied")
			})
		}
	}
}

// reds counts pixels that are clearly red.
func reds(picture image.Image) (n int) {
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			if r, g, b, _ := picture.At(x, y).RGBA(); r > 0xa000 && r > g*3/2 && r > b*3/2 {
				n++
			}
		}
	}
	return n
}

func TestThePageWorksByKeyboard(t *testing.T) {
	s := serve(t)
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(s.URL))
	b.until(`document.querySelectorAll(".name").length === 2`)
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("user"))
	b.until(`document.querySelectorAll("#limiters > tbody > tr:not([hidden])").length === 1`)
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "<b>users</b>", eval[string](b, `document.activeElement.textContent`))
	require.NotEqual(t, "none", eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`), "the focus is seen")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.getAttribute("aria-expanded") === "true"`)
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("ann"), chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector(".verdict").textContent === "ann: allowed, 20 left, full"`)
}

// TestARowThatMovesKeepsTheFocus: those that deny most come first, and go on being used.
func TestARowThatMovesKeepsTheFocus(t *testing.T) {
	s := serve(t)
	s.load(t)
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(s.URL))
	b.until(cell(1, 3) + ` > 50`)
	b.do(chromedp.Focus(`//button[.="everybody"]`), chromedp.Evaluate[chromedp.Void](`document.querySelector("#order").value = "denied"`))
	b.until(`document.querySelector(".name").textContent === "<b>users</b>"`)
	require.Equal(t, "everybody", eval[string](b, `document.activeElement.textContent`))
}

func TestThePageFollowsLimitersThatComeAndGoAndChange(t *testing.T) {
	s := serve(t)
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(s.URL))
	b.until(`document.querySelectorAll(".name").length === 2`)
	b.do(chromedp.Click(`//button[.="everybody"]`))
	b.until(`document.querySelector(".verdict").textContent.startsWith("allowed, 1,000 left")`)
	require.NoError(t, s.shared.SetPolicy(weir.FixedWindow(weir.PerMinute(7))))
	b.until(`document.querySelector("[data-of=description]").textContent === "7 in each 1m of the clock"`)
	s.page.Add("new", debuglimit.Limiter(weir.New(weir.TokenBucket(weir.PerSecond(1)))))
	b.until(`[...document.querySelectorAll(".name")].map(name => name.textContent).join() === "everybody,<b>users</b>,new"`)
	s.page.Remove("everybody")
	b.until(`[...document.querySelectorAll(".name")].map(name => name.textContent).join() === "<b>users</b>,new"`)
	require.Zero(t, eval[int](b, `document.querySelectorAll(".more").length`))
	b.forgive("404") // it may have been asked for once more
}

// TestThePageSaysThatTheServerIsGoneAndComesBack: as the server's does for those of its pages.
func TestThePageSaysThatTheServerIsGoneAndComesBack(t *testing.T) {
	var page debuglimit.Page
	page.Add("one", debuglimit.Limiter(weir.New(weir.TokenBucket(weir.PerSecond(1)))))
	gone := make(chan struct{})
	var away bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-gone:
			if away = !away; away { // once
				panic(http.ErrAbortHandler)
			}
		default:
		}
		page.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(page.Close)
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(server.URL))
	b.until(`document.querySelector("#status").textContent === "Live"`)
	close(gone)
	server.CloseClientConnections()
	b.until(`document.querySelector("#status").textContent.startsWith("The connection is lost")`)
	b.until(`document.querySelector("#status").textContent === "Live"`)
	b.forgive("ERR_")
}
