package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

var errRandom = errors.New("at random")

// A troublemaker moves fewer bytes than it could, fails and dawdles, all at random.
type troublemaker struct {
	random *rand.Rand
	l      *weir.Limiter
	all    *record       // of all troublemakers
	moved  bytes.Buffer  // what came
	from   *bytes.Reader // what goes, of a reader
}

func (m *troublemaker) pass(p []byte) {
	m.all.add(len(p))
	m.moved.Write(p)
}

func (m *troublemaker) trouble() error {
	time.Sleep(time.Duration(m.random.IntN(3)) * time.Duration(m.random.IntN(2000)) * time.Microsecond)
	if m.random.IntN(4) == 0 {
		return errRandom
	}
	return nil
}

func (m *troublemaker) Write(p []byte) (int, error) {
	if m.random.IntN(3) == 0 {
		p = p[:m.random.IntN(len(p)+1)]
	}
	m.pass(p)
	return len(p), m.trouble()
}

func (m *troublemaker) Read(p []byte) (int, error) {
	n, err := m.from.Read(p[:m.random.IntN(len(p)+1)])
	if trouble := m.trouble(); err == nil {
		err = trouble
	}
	return n, err
}

func (m *troublemaker) WaitN(ctx context.Context, n int) error {
	if m.random.IntN(5) == 0 {
		return errRandom
	}
	return m.l.WaitN(ctx, n)
}

// moveRandomly moves bytes in spite of all trouble.
func (m *troublemaker) moveRandomly(ctx context.Context, writes bool) error {
	text := make([]byte, 1+m.random.IntN(3000))
	for i := range text {
		text[i] = byte(m.random.IntN(256))
	}
	m.from = bytes.NewReader(text)
	w, r := httplimit.NewWriter(ctx, m, m.WaitN), httplimit.NewReader(ctx, m, m.WaitN)
	var err error
	for p := text; writes && len(p) > 0 && (err == nil || err == errRandom || err == io.ErrShortWrite); {
		var n int
		n, err = w.Write(p[:1+m.random.IntN(len(p))])
		p = p[n:]
	}
	for p := make([]byte, 3000); !writes && (err == nil || err == errRandom); {
		var n int
		n, err = r.Read(p[:m.random.IntN(len(p))])
		m.pass(p[:n])
	}
	if !bytes.Equal(text, m.moved.Bytes()) {
		return fmt.Errorf("of %x came %x: %w", text, m.moved.Bytes(), err)
	}
	return nil
}

// However they fail and dawdle, readers and writers of one limiter lose no byte, add none and together never exceed it.
func TestRandomTroubleLosesNothingAndExceedsNothing(t *testing.T) {
	for range 100 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		limit := weir.PerSecond(1 + random.IntN(10_000))
		policy := oneOf(random, weir.TokenBucket(limit.WithBurst(1+random.IntN(5000))), weir.FixedWindow(limit), weir.SlidingWindow(limit),
			weir.All(weir.TokenBucket(limit.WithBurst(1+random.IntN(500))), weir.SlidingWindow(weir.PerMinute(50_000))))
		synctest.Test(t, func(t *testing.T) {
			l, all := weir.New(policy), newRecord()
			done := make(chan error)
			for i := range 4 {
				m := &troublemaker{random: rand.New(rand.NewPCG(seed, uint64(1+i))), l: l, all: all}
				go func() { done <- m.moveRandomly(t.Context(), i%2 == 0) }()
			}
			for range 4 {
				require.NoError(t, <-done, "seed %d", seed)
			}
			all.requireWithin(t, policy, seed)
		})
	}
}

// waitOf waits for the turn of the client's address.
func waitOf(clients *weir.PerClient[netip.Prefix], r *http.Request) func(context.Context, int) error {
	client, _ := httplimit.RemoteIP(r)
	return func(ctx context.Context, n int) error { return clients.WaitN(ctx, client, n) }
}

func TestAClientThatLeavesEndsTheResponseThatWaits(t *testing.T) {
	clients := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerHour(1).WithBurst(16 * kib)))
	defer clients.Close()
	type result struct {
		n   int64
		err error
	}
	done := make(chan result, 1)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		n, err := io.CopyN(httplimit.NewWriter(r.Context(), w, waitOf(clients, r)), zeros{}, 1_000_000)
		done <- result{n, err}
	}), "")

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = io.ReadFull(response.Body, make([]byte, 12*kib)) // net/http keeps the last few KiB until there is more
	require.NoError(t, err)
	leave()
	select {
	case got := <-done:
		require.Equal(t, result{16 * kib, context.Canceled}, got)
	case <-time.After(time.Minute):
		t.Fatal("the handler still waits")
	}
	client, _ := httplimit.RemoteIP(&http.Request{RemoteAddr: "127.0.0.1:1"})
	require.Zero(t, clients.Stats().Waiting)
	require.Zero(t, clients.Tokens(client))
}

func TestBodiesAreLimitedOnBothSides(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 4000)
	clients := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerHour(1).WithBurst(100_000)))
	defer clients.Close()
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = httplimit.NewBody(r.Context(), r.Body, waitOf(clients, r))
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			text = []byte(err.Error())
		}
		_, _ = w.Write(text)
	}), "")
	uploads := weir.New(weir.TokenBucket(weir.PerHour(1).WithBurst(100_000)))
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(text))
	require.NoError(t, err)
	r.Body = httplimit.NewBody(r.Context(), r.Body, uploads.WaitN)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	echo, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.True(t, text == string(echo), "%d bytes come back, %.100s", len(echo), echo)
	client, _ := httplimit.RemoteIP(&http.Request{RemoteAddr: "127.0.0.1:1"})
	require.Equal(t, 100_000-len(text), uploads.Tokens())
	require.Equal(t, 100_000-len(text), clients.Tokens(client))
}
