package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// start serves on loopback until the test ends, and returns the address and what stops it.
func start(t *testing.T, l *limits, log io.Writer) (addr string, stop func() error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	done := make(chan error, 1)
	go func() { done <- serve(ctx, listener, newHandler(l, slog.New(slog.NewTextHandler(log, nil)))) }()
	return listener.Addr().String(), func() error {
		cancel()
		return <-done
	}
}

// ask sends a request as curl does and returns the response as curl -i shows it, the date aside.
func ask(t *testing.T, addr string, headers ...string) string {
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /hello HTTP/1.1\r\nHost: %s\r\nUser-Agent: curl/8\r\nAccept: */*\r\n%s\r\n", addr, strings.Join(headers, ""))
	require.NoError(t, err)
	var raw bytes.Buffer
	answer, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &raw)), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	text := strings.ReplaceAll(raw.String(), "\r\n", "\n")
	return regexp.MustCompile(`(?m)^Date: .*`).ReplaceAllString(text, "Date: Fri, 20 Nov 2026 12:00:00 GMT")
}

// The README shows what this server answers.
func TestREADME_ShowsTheAnswers(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^```http\n(.*?)^```$").FindAllStringSubmatch(string(readme), -1)
	require.Len(t, blocks, 2)
	addr, _ := start(t, newLimits(nil, weir.WithClock(weir.NewManualClock())), io.Discard)
	const command = "$ curl -i http://127.0.0.1:8080/hello\n"
	require.Equal(t, blocks[0][1], command+ask(t, addr))
	for range 19 {
		ask(t, addr)
	}
	require.Equal(t, blocks[1][1], command+ask(t, addr))
}

func TestServer_CountsAddressesKeysAndEverybody(t *testing.T) {
	clock := weir.NewManualClock()
	l := newLimits([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, weir.WithClock(clock))
	var log bytes.Buffer
	addr, stop := start(t, l, &log)
	from := func(ip string) string { return "X-Forwarded-For: " + ip + "\r\n" }
	const ann, forged = "X-Api-Key: k-ann\r\n", "X-Api-Key: invented\r\n"

	require.Contains(t, ask(t, addr, from("192.0.2.1")), "Hello, stranger.")
	require.Contains(t, ask(t, addr, from("192.0.2.2"), ann), "Hello, ann.")
	require.Contains(t, ask(t, addr, from("192.0.2.2"), ann),
		`Ratelimit-Policy: "everybody";q=1000;w=1,"address";q=20;w=2,"key";q=1000;w=3600`)
	require.NotContains(t, ask(t, addr, from("192.0.2.3"), forged), `"key"`)
	require.Equal(t, 3, l.addresses.Len())
	require.Equal(t, 1, l.users.Len())
	require.Equal(t, 998, l.users.Tokens("ann"))
	require.Equal(t, 996, l.everybody.Tokens())

	for range 19 {
		require.Contains(t, ask(t, addr, from("192.0.2.1")), "200 OK")
	}
	require.Contains(t, ask(t, addr, from("192.0.2.1")), "429 Too Many Requests")
	require.Equal(t, uint64(1), l.denied())
	clock.Advance(100 * time.Millisecond)
	require.Contains(t, ask(t, addr, from("192.0.2.1")), "200 OK")
	require.NoError(t, stop())
	require.Contains(t, log.String(), "client=192.0.2.1 method=GET path=/hello policy=address retry_after=100ms")
}

// What is under way when the server is told to stop is answered.
func TestServer_StopsWhenItHasAnswered(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		done <- serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(began)
			<-ctx.Done()
			fmt.Fprint(w, "answered")
		}))
	}()
	go func() {
		<-began
		cancel()
	}()
	require.Contains(t, ask(t, listener.Addr().String()), "answered")
	require.NoError(t, <-done)
	_, err = net.Dial("tcp", listener.Addr().String())
	require.Error(t, err)
}

func TestServer_RefusesWhatItCannotRead(t *testing.T) {
	require.ErrorContains(t, run("127.0.0.1:0", "10.0.0.0/8, 10.1"), `-trusted: netip.ParsePrefix("10.1")`)
	require.Error(t, run("127.0.0.1:99999", ""))
}
