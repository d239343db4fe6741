package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

// With -addr it serves until it is told to stop, and then nothing of it is left.
func TestRun_Addr(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	r, w := io.Pipe()
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"-addr", "127.0.0.1:0"}, w, w)
		w.Close()
	}()
	printed := bufio.NewReader(r)
	line, err := printed.ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`http://\S+`).FindString(line)
	require.NotEmpty(t, url, line)
	rest := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(printed)
		rest <- string(b)
	}()

	c := &http.Client{Transport: &http.Transport{}}
	for i := range 6 {
		resp, err := c.Get(url + "/login/alice")
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		if i < 5 {
			require.Equal(t, http.StatusOK, resp.StatusCode)
			require.Equal(t, strconv.Itoa(4-i), resp.Header.Get("X-RateLimit-Remaining"))
			require.Equal(t, "welcome, alice\n", string(body))
			continue
		}
		require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
		seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, seconds, 1)
		require.LessOrEqual(t, seconds, 10)
		require.Contains(t, string(body), "token-bucket 1/10s burst 5")
	}
	// Streams end with the server, although nobody hangs up.
	send, _, err := dialStream(c, url+"/messages/bot")
	require.NoError(t, err)
	ok, err := send()
	require.NoError(t, err)
	require.True(t, ok)

	interrupt()
	require.Equal(t, 0, <-status)
	_, err = send()
	require.Error(t, err)
	_, err = net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.Error(t, err)

	out := <-rest
	require.Contains(t, out, "curl -i "+url+"/login/alice\n")
	require.Regexp(t, `/login +5 +1 +1\n`, out)
	require.Regexp(t, `/messages +1 +0 +1\n`, out)
}

// A connection on which nobody says anything does not keep the server.
func TestServer_StopsBesideASilentConnection(t *testing.T) {
	s, err := start("127.0.0.1:0", nil)
	require.NoError(t, err)
	silent, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer silent.Close()
	// Accepted later, so that the silent one is known to the server by now.
	_, err = get(http.DefaultClient, s.url+"/any/name")
	require.ErrorContains(t, err, "404")

	require.NoError(t, s.stop())
	_, err = silent.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestRun_AddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	var out, errs bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"-addr", l.Addr().String()}, &out, &errs))
	require.Contains(t, errs.String(), "in use")
}

func TestRun_Flags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
		says string
	}{
		{[]string{"-h"}, 0, "-addr address"},
		{[]string{"-for", "0s"}, 2, "must be positive"},
		{[]string{"-for", "-1s"}, 2, "must be positive"},
		{[]string{"-for", "soon"}, 2, "invalid value"},
		{[]string{"-addr", ":0", "-for", "1s"}, 2, "no meaning"},
		{[]string{"-fast"}, 2, "not defined"},
		{[]string{"10s"}, 2, `"10s"`},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, c.want, run(t.Context(), c.args, &out, &errs), "%q", c.args)
		require.Contains(t, errs.String(), c.says)
		require.Empty(t, out.String())
	}
}

func TestRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                             "1",
		time.Nanosecond:               "1",
		time.Second:                   "1",
		time.Second + time.Nanosecond: "2",
		10 * time.Second:              "10",
		weir.Never - 1:                "9223372037",
		weir.Never:                    "",
	} {
		require.Equal(t, want, retryAfter(d), "%v", d)
	}
}

func TestReachable(t *testing.T) {
	for from, want := range map[string]string{
		"0.0.0.0:8080":   "localhost:8080",
		"[::]:8080":      "localhost:8080",
		"127.0.0.1:8080": "127.0.0.1:8080",
		"[::1]:8080":     "[::1]:8080",
	} {
		a, err := net.ResolveTCPAddr("tcp", from)
		require.NoError(t, err)
		require.Equal(t, want, reachable(a))
	}
}
