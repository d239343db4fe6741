package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// A stream stands in for a WebSocket, which the standard library lacks: after an HTTP upgrade the
// client sends a line for each message, and each is answered by a line.
const (
	protocol = "weir-demo-lines"
	accepted = "ok"
	tooMany  = "too many"
)

// upgradable serves a stream to those who ask for one; to others a request is one message.
func upgradable(take func(client string) weir.Decision, open *sync.WaitGroup, plain http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != protocol {
			plain.ServeHTTP(w, r)
			return
		}
		open.Add(1) // Shutdown waits for handlers up to here, so that its caller's Wait comes later
		defer open.Done()
		client := clientOf(r)
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer conn.Close()
		defer context.AfterFunc(r.Context(), func() { conn.Close() })()
		fmt.Fprintf(buf, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol)
		if buf.Flush() != nil {
			return
		}
		for lines := bufio.NewScanner(buf); lines.Scan(); {
			answer := accepted
			if d := take(client); !d.Allowed {
				answer = tooMany
			}
			fmt.Fprintln(buf, answer)
			if buf.Flush() != nil {
				return
			}
		}
	})
}

// dialStream opens a stream; send writes one message on it and reports whether it was accepted.
func dialStream(c *http.Client, url string) (send sender, hangUp func(), err error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", protocol)
	resp, err := c.Do(req)
	if err != nil {
		return nil, nil, err
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		resp.Body.Close()
		return nil, nil, fmt.Errorf("%s: %s instead of a stream", url, resp.Status)
	}
	answers := bufio.NewReader(conn)
	send = func() (bool, error) {
		defer time.AfterFunc(patience, func() { conn.Close() }).Stop()
		if _, err := io.WriteString(conn, "hello\n"); err != nil {
			return false, err
		}
		line, err := answers.ReadString('\n')
		switch answer := strings.TrimSpace(line); {
		case err != nil:
			return false, err
		case answer == accepted:
			return true, nil
		case answer == tooMany:
			return false, nil
		}
		return false, errors.New("an answer that is none: " + line)
	}
	return send, func() { conn.Close() }, nil
}
