package httplimit_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// kibibyteASecond limits what each address is sent.
func kibibyteASecond() *httplimit.Middleware {
	clients := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerSecond(1024)))
	return &httplimit.Middleware{
		Layers: weir.NewLayers[*http.Request](),
		Bandwidth: func(ctx context.Context, r *http.Request, n int) error {
			client, _ := httplimit.RemoteIP(r)
			return clients.WaitN(ctx, client, n)
		},
	}
}

// However a handler writes its body, a byte leaves in its turn.
func TestBandwidthHoldsTheBodyBack(t *testing.T) {
	body := strings.Repeat("x", 4096)
	for name, write := range map[string]func(w http.ResponseWriter) error{
		"Write": func(w http.ResponseWriter) error {
			_, err := w.Write([]byte(body))
			return err
		},
		"WriteString": func(w http.ResponseWriter) error {
			_, err := io.WriteString(w, body)
			return err
		},
		"io.Copy": func(w http.ResponseWriter) error {
			_, err := io.Copy(w, io.LimitReader(strings.NewReader(body), 1<<20))
			return err
		},
		"with Flush": func(w http.ResponseWriter) error {
			for part := range 4 {
				if _, err := w.Write([]byte(body[part*1024 : (part+1)*1024])); err != nil {
					return err
				}
				w.(http.Flusher).Flush()
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := kibibyteASecond().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(http.StatusAccepted)
					require.NoError(t, write(w))
				}))
				began := time.Now()
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
				require.Equal(t, 3*time.Second, time.Since(began), "the first KiB was there")
				require.Equal(t, body, w.Body.String())
				require.Equal(t, http.StatusAccepted, w.Code)

				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.RemoteAddr = "198.51.100.9:1"
				began = time.Now()
				h.ServeHTTP(httptest.NewRecorder(), r)
				require.Equal(t, 3*time.Second, time.Since(began), "another client has another rate")
			})
		})
	}
}

func TestBandwidthIsNotSpentOnHEAD(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := kibibyteASecond().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(make([]byte, 1<<20))
		}))
		began := time.Now()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodHead, "/", nil))
		require.Zero(t, time.Since(began))
	})
}

// A client that has gone has no turn: Write fails, and what Settle makes of it is not lost.
func TestBandwidthEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := kibibyteASecond()
		settled := 0
		m.Settle = func(_ *http.Request, status int) int {
			settled = status
			return 1
		}
		h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, err := w.Write(make([]byte, 1<<20))
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, 3072, n)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2500*time.Millisecond, cancel)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		require.Equal(t, http.StatusOK, settled)
	})
}

func TestBandwidthOverTheWire(t *testing.T) {
	whole := weir.New(weir.TokenBucket(weir.PerSecond(1 << 20).WithBurst(64 << 10)))
	m := httplimit.Middleware{
		Layers:    weir.NewLayers[*http.Request](),
		Bandwidth: func(ctx context.Context, _ *http.Request, n int) error { return whole.WaitN(ctx, n) },
	}
	const size = 640 << 10
	server := httptest.NewServer(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "f.bin", time.Time{}, strings.NewReader(strings.Repeat("y", size)))
	})))
	defer server.Close()
	began := time.Now()
	response, err := http.Get(server.URL)
	require.NoError(t, err)
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.EqualValues(t, size, n)
	// 64 KiB at once, and 576 at 1 MiB a second.
	require.GreaterOrEqual(t, time.Since(began), 550*time.Millisecond)
}
