package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/goweir/weir"
	"github.com/goweir/weir/debuglimit"
	"github.com/stretchr/testify/require"
)

// serveBut serves a page, but for requests that instead answers.
func serveBut(t *testing.T, page *debuglimit.Page, instead func(http.ResponseWriter, *http.Request) bool) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !instead(w, r) {
			page.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(page.Close)
	return server.URL
}

// TestTimesAreRoundedUpToWholeUnits: there are no "1 min 60 s".
func TestTimesAreRoundedUpToWholeUnits(t *testing.T) {
	var page debuglimit.Page
	clock := weir.NewManualClock()
	all := map[string]time.Duration{
		"1000ms": 999*time.Millisecond + 1, "1.1 s": 1001 * time.Millisecond, "1 min 0 s": 59*time.Second + 950*time.Millisecond,
		"2 min": 119500 * time.Millisecond, "1 min 31 s": 90500 * time.Millisecond, "2 h": 2*time.Hour - time.Second,
		"1 h 31 min": 90*time.Minute + time.Second, "2 d": 48*time.Hour - time.Second, "30 d 1 h": 720*time.Hour + time.Second,
	}
	for name, interval := range all {
		l := weir.New(weir.TokenBucket(weir.Every(interval)), weir.WithClock(clock))
		l.Allow()
		page.Add(name, debuglimit.Limiter(l))
	}
	server := serveBut(t, &page, func(http.ResponseWriter, *http.Request) bool { return false })
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(server))
	b.until(fmt.Sprintf(`document.querySelectorAll(".name").length === %d`, len(all)))
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll(".name").forEach(name => name.click())`))
	b.until(fmt.Sprintf(`[...document.querySelectorAll(".verdict")].filter(v => v.textContent).length === %d`, len(all)))
	said := eval[[]string](b, `[...document.querySelectorAll("tr.opened")].map(tr =>
		tr.previousElementSibling.querySelector(".name").textContent + ": " + tr.querySelector(".verdict").textContent.split("again in ")[1])`)
	for _, s := range said {
		name, in, _ := strings.Cut(s, ": ")
		want := map[string]string{"1000ms": "1.0 s", "1 min 0 s": "1 min"}[name]
		if want == "" {
			want = name
		}
		require.Equal(t, want, in)
	}
}

// TestAPageThatWasAnsweredWithAnErrorTriesAgain, which browsers do not by themselves.
func TestAPageThatWasAnsweredWithAnErrorTriesAgain(t *testing.T) {
	var page debuglimit.Page
	page.Add("one", debuglimit.Limiter(weir.New(weir.TokenBucket(weir.PerSecond(1)))))
	var asked atomic.Int64
	server := serveBut(t, &page, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("format") != "events" || asked.Add(1) > 1 {
			return false
		}
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return true
	})
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(server))
	b.until(`document.querySelector("#status").textContent.startsWith("The connection is lost")`)
	b.until(`document.querySelector("#status").textContent === "Live"`)
	b.forgive("502")
}

// TestNoAnswerIsSaidOnlyUntilThereIsOne, also where no client is looked for.
func TestNoAnswerIsSaidOnlyUntilThereIsOne(t *testing.T) {
	s := serve(t)
	var away atomic.Bool
	server := serveBut(t, &s.page, func(w http.ResponseWriter, r *http.Request) bool {
		if away.Load() && r.URL.Query().Has("limiter") {
			http.Error(w, "", http.StatusBadGateway)
			return true
		}
		return false
	})
	away.Store(true)
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(server))
	b.until(`document.querySelectorAll(".name").length === 2`)
	b.do(chromedp.Click(`//button[.="<b>users</b>"]`))
	b.until(`document.querySelector(".verdict").textContent === "No answer" && !document.querySelector(".client").hidden`)
	away.Store(false)
	b.until(`document.querySelector(".client").hidden`)
	b.forgive("502")
}

// TestWhatIsSaidOfAClientIsInAPlaceThatIsThereBefore: a screen reader need not tell of what appears together with its text.
func TestWhatIsSaidOfAClientIsInAPlaceThatIsThereBefore(t *testing.T) {
	s := serve(t)
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(s.URL))
	b.until(`document.querySelectorAll(".name").length === 2`)
	b.do(chromedp.Click(`//button[.="<b>users</b>"]`))
	b.until(`document.querySelector(".spoken")`)
	require.True(t, eval[bool](b, `document.querySelector(".spoken").closest("[hidden]") === null`))
}

// TestWhatIsDeniedLatelyIsOfTenSeconds, though nobody asked for a minute, as of a page that was hidden.
func TestWhatIsDeniedLatelyIsOfTenSeconds(t *testing.T) {
	s := serve(t)
	s.load(t)
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(s.URL))
	b.until(`document.querySelectorAll(".name").length === 2`)
	b.do(chromedp.Click(`//button[.="<b>users</b>"]`))
	const lately = `Number(document.querySelector(".top tbody tr").children[1].textContent)`
	b.until(lately + ` > 300`)
	b.do(chromedp.Evaluate[chromedp.Void](`{ const now = performance.now.bind(performance); performance.now = () => now() + 60000; }`))
	b.until(lately + ` < 200`)
}

// TestARefillIsToldFromWhatIsLeft, not from a step of the picture.
func TestARefillIsToldFromWhatIsLeft(t *testing.T) {
	var page debuglimit.Page
	l := weir.New(weir.TokenBucket(weir.PerHour(1000)), weir.WithClock(weir.NewManualClock()))
	l.Allow()
	page.Add("one", debuglimit.Limiter(l))
	server := serveBut(t, &page, func(http.ResponseWriter, *http.Request) bool { return false })
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(server))
	b.until(`document.querySelector(".name")`)
	b.do(chromedp.Click(`//button[.="one"]`))
	b.until(`document.querySelector("figure svg").getAttribute("aria-label")`)
	require.Equal(t, "From 999 left now to 1,000 in 3.6 s, if nothing more is taken",
		eval[string](b, `document.querySelector("figure svg").getAttribute("aria-label")`))
}

// TestAGapHasItsWidth: seconds of which nothing was told are shown as many, not as one.
func TestAGapHasItsWidth(t *testing.T) {
	var page debuglimit.Page
	server := serveBut(t, &page, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("format") != "events" {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "event: limiters\ndata: [{\"name\":\"one\",\"description\":\"\"}]\n\n")
		for _, frame := range [][2]int{{1000, 0}, {2000, 10}, {3100, 20}, {13000, 120}} {
			_, _ = fmt.Fprintf(w, "event: counters\ndata: {\"at\":%d,\"counters\":[[%d,0,0,0,0,0,0,0,0]]}\n\n", frame[0], frame[1])
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	})
	b := browse(t, 1280, "light")
	b.do(chromedp.Navigate(server))
	b.until(`document.querySelector(".bar.allowed").getAttribute("d")`)
	d := eval[string](b, `document.querySelector(".bar.allowed").getAttribute("d")`)
	require.Equal(t, 12, strings.Count(d, "M"))
	require.Contains(t, d, "M48 ")
}
