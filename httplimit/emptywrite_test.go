package httplimit_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// TestAnEmptyWriteBeginsTheResponse: as without Bandwidth, which it does not wait for.
func TestAnEmptyWriteBeginsTheResponse(t *testing.T) {
	var asked []int
	m := &httplimit.Middleware{
		Layers:    weir.NewLayers[*http.Request](),
		Bandwidth: func(_ context.Context, _ *http.Request, n int) error { asked = append(asked, n); return nil },
	}
	w := httptest.NewRecorder()
	m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(nil)
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("a"))
	})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, []int{1}, asked, "a single byte waits for its turn")
}

// TestAReadThatHasNothingWaitsForNothing: nor does one whose context is done.
func TestAReadThatHasNothingWaitsForNothing(t *testing.T) {
	wait := func(context.Context, int) error { t.Error("waited"); return nil }
	r := httplimit.NewReader(t.Context(), nothing{}, wait)
	n, err := r.Read(make([]byte, 8))
	require.Zero(t, n)
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n, err = httplimit.NewReader(ctx, nothing{}, wait).Read(make([]byte, 8))
	require.Zero(t, n)
	require.ErrorIs(t, err, context.Canceled)
}

// nothing is a reader that may try again.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }
