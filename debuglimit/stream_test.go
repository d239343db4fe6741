package debuglimit_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/debuglimit"
	"github.com/stretchr/testify/require"
)

// An event is one of a stream.
type event struct{ name, data string }

// events reads a stream to its end.
func events(t *testing.T, r *bufio.Reader, each func(event) bool) {
	var e event
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if !each(e) {
				return
			}
			e = event{}
		default:
			t.Errorf("a line %q", line)
		}
	}
}

func open(t *testing.T, ctx context.Context, url string) *bufio.Reader {
	request, err := http.NewRequestWithContext(ctx, "GET", url+"?format=events", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	return bufio.NewReader(response.Body)
}

// TestTheStreamTellsCountersOnceASecondAndLimitersWhenTheyChange, through a server with a
// WriteTimeout, which would end it.
func TestTheStreamTellsCountersOnceASecondAndLimitersWhenTheyChange(t *testing.T) {
	page, _, users := bench()
	server := httptest.NewUnstartedServer(page)
	server.Config.WriteTimeout = 1500 * time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(page.Close)
	var seen []event
	var at []int64
	events(t, open(t, t.Context(), server.URL), func(e event) bool {
		seen = append(seen, e)
		if e.name == "counters" {
			var frame struct {
				At       int64
				Counters [][9]int64
			}
			require.NoError(t, json.Unmarshal([]byte(e.data), &frame))
			at = append(at, frame.At)
			require.Equal(t, [9]int64{}, frame.Counters[0])
			require.Equal(t, [9]int64{int64(min(4, len(at)-1)), int64(max(0, len(at)-5)), 0, 0, min(1, int64(len(at)-1))}, frame.Counters[1])
			users.Allow("ann")
			if len(at) == 2 {
				require.NoError(t, users.SetPolicy(weir.TokenBucket(weir.PerSecond(2).WithBurst(4)).Named("x")))
			}
		}
		return len(at) < 3
	})
	require.Len(t, seen, 5)
	require.Equal(t, []string{"limiters", "counters", "counters", "limiters", "counters"},
		[]string{seen[0].name, seen[1].name, seen[2].name, seen[3].name, seen[4].name})
	require.NotContains(t, seen[0].data, `as \"x\"`)
	require.Contains(t, seen[3].data, `as \"x\"`)
	for i := range at[1:] {
		require.GreaterOrEqual(t, at[i+1]-at[i], int64(500))
	}
}

// TestNothingIsLeftOfPagesThatWereOpen: fifty of them, of which some vanish, some are closed by the server.
func TestNothingIsLeftOfPagesThatWereOpen(t *testing.T) {
	page, _, _ := bench()
	server := httptest.NewServer(page)
	http.DefaultClient.CloseIdleConnections()
	floor := runtime.NumGoroutine()
	ctx, vanish := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	for i := range 50 {
		who := t.Context()
		if i%2 == 0 {
			who = ctx
		}
		r := open(t, who, server.URL)
		events(t, r, func(event) bool { return false })
		ended.Go(func() { events(t, r, func(event) bool { return true }) })
	}
	require.Greater(t, runtime.NumGoroutine(), floor+50)
	vanish()
	page.Close()
	ended.Wait()
	server.Close() // waits for all handlers
	http.DefaultClient.CloseIdleConnections()
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > floor; time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "%d goroutines, and %d before", runtime.NumGoroutine(), floor)
	}
}

// TestAShutdownDoesNotWaitForOpenPages that are closed with it.
func TestAShutdownDoesNotWaitForOpenPages(t *testing.T) {
	page, _, _ := bench()
	server := httptest.NewServer(page)
	server.Config.RegisterOnShutdown(page.Close)
	r := open(t, t.Context(), server.URL)
	events(t, r, func(event) bool { return false })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, server.Config.Shutdown(ctx))
	response := get(page, "?format=events") // ends at once
	require.Contains(t, response.Body.String(), "event: counters")
}

// pipes is a listener whose connections have no buffers.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// local is a connection whose peer is on the machine.
type local struct{ net.Conn }

func (local) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5000} }

// TestWhoDoesNotReadIsDroppedAfterTenSeconds, and nobody else waits for them.
func TestWhoDoesNotReadIsDroppedAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var page debuglimit.Page
		page.Add("a", debuglimit.Limiter(weir.New(weir.TokenBucket(weir.PerSecond(1)))))
		listener := make(pipes)
		done := make(chan time.Duration, 2)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			page.ServeHTTP(w, r)
			done <- time.Since(start)
		})}
		go func() { _ = server.Serve(listener) }()
		connect := func() net.Conn {
			here, there := net.Pipe()
			listener <- local{there}
			_, err := fmt.Fprint(here, "GET /?format=events HTTP/1.1\r\nHost: localhost\r\n\r\n")
			require.NoError(t, err)
			return here
		}
		stuck, reads := connect(), connect()
		counted := 0
		go func() {
			response, err := http.ReadResponse(bufio.NewReader(reads), nil)
			require.NoError(t, err)
			events(t, bufio.NewReader(response.Body), func(event) bool { counted++; return true })
		}()
		time.Sleep(15 * time.Second)
		synctest.Wait()
		require.Equal(t, 10*time.Second, <-done)
		require.Empty(t, done)
		require.Greater(t, counted, 15)
		require.NoError(t, stuck.Close())
		require.NoError(t, reads.Close())
		<-done
		require.NoError(t, server.Close())
	})
}

func TestThereAreOnlySoManyOpenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var page debuglimit.Page
		ctx, cancel := context.WithCancel(t.Context())
		ask := func() *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(ctx, "GET", "http://localhost/?format=events", nil)
			r.RemoteAddr = "127.0.0.1:5000"
			w := httptest.NewRecorder()
			page.ServeHTTP(w, r)
			return w
		}
		var group sync.WaitGroup
		for range 256 {
			group.Go(func() { require.Equal(t, http.StatusOK, ask().Code) })
		}
		synctest.Wait()
		refused := ask()
		require.Equal(t, http.StatusServiceUnavailable, refused.Code)
		require.Equal(t, "60", refused.Header().Get("Retry-After"))
		cancel()
		group.Wait()
		require.Equal(t, http.StatusOK, ask().Code)
	})
}

// TestManyPagesCostOneReading: those who ask within less than a second are told the same.
func TestManyPagesCostOneReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := &counting{}
		var page debuglimit.Page
		page.Add("far", debuglimit.Store(counted))
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for i := range 50 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				r := httptest.NewRequestWithContext(ctx, "GET", "http://localhost/?format=events", nil)
				r.RemoteAddr = "127.0.0.1:5000"
				page.ServeHTTP(httptest.NewRecorder(), r)
			})
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		cancel()
		group.Wait()
		require.Equal(t, 11, counted.times)
	})
}

type counting struct {
	weir.PerClient[string]
	times int
}

func (c *counting) Stats() weir.Stats { c.times++; return weir.Stats{} }
func (c *counting) Policy() weir.Policy {
	return weir.TokenBucket(weir.PerSecond(1))
}
func (c *counting) Peek(context.Context, string, int) (weir.Decision, error) {
	return weir.Decision{}, nil
}

// TestPagesChangeWhileTheyAreRead by many goroutines.
func TestPagesChangeWhileTheyAreRead(t *testing.T) {
	var page debuglimit.Page
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)), weir.WithTopDenied(3))
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			name := fmt.Sprint("g", g)
			for range 100 {
				page.Add(name, debuglimit.PerClient(clients, debuglimit.Strings()))
				clients.Allow(name)
				require.Equal(t, http.StatusOK, get(&page, "?format=json").Code)
				require.Equal(t, http.StatusOK, get(&page, "?format=json&key=k&limiter="+name).Code)
				require.True(t, page.Remove(name))
			}
		})
	}
	group.Wait()
}
