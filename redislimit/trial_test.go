package redislimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

// broken returns a store that answers nothing, once it is told to.
func broken(left int) (store *fakeStore, fails *bool) {
	store, fails = &fakeStore{left: left}, new(bool)
	store.before = func(context.Context, string) error {
		if *fails {
			return errors.New("connection refused")
		}
		return nil
	}
	return store, fails
}

// TestALimitOnTrialDeniesNobody: not even if its store does not answer. It says what it
// would have done.
func TestALimitOnTrialDeniesNobody(t *testing.T) {
	ctx, p := context.Background(), window(1, time.Hour)
	c := redislimit.New(redistest.Start(t).Client(), p, redislimit.WithShadow(), redislimit.WithTimeout(generous), redislimit.WithDenyCache(10))
	for i := range 3 {
		d, err := c.Take(ctx, "a", 1)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.Equal(t, i > 0, d.Shadowed)
		require.Equal(t, i > 0, d.RetryAfter > 0)
		d, err = c.Peek(ctx, "a", 1)
		require.NoError(t, err)
		require.True(t, d.Allowed && d.Shadowed)
	}
	require.Equal(t, weir.Stats{Allowed: 1, Denied: 2, Shadowed: 2, Local: 1}, c.Stats())

	for _, fallback := range []redislimit.Fallback{redislimit.FailClosed, redislimit.FailOpen, redislimit.Local(1)} {
		store, fails := broken(10)
		*fails = true
		c := redislimit.NewWith(store, p, redislimit.WithShadow(), redislimit.WithFallback(fallback))
		for i := range 10 { // then the breaker is open
			d, err := c.Take(ctx, "a", 1)
			require.NoError(t, err)
			require.True(t, d.Allowed)
			require.True(t, d.Fallback)
			require.Equal(t, fallback == redislimit.FailClosed || fallback == redislimit.Local(1) && i > 0, d.Shadowed)
			d, err = c.Peek(ctx, "a", 1)
			require.NoError(t, err)
			require.True(t, d.Allowed)
		}
		stats := c.Stats()
		require.EqualValues(t, 10, stats.Fallback)
		require.EqualValues(t, 10, stats.Allowed+stats.Denied)
		require.Equal(t, stats.Denied, stats.Shadowed)
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_, err := c.Take(gone, "a", 1)
		require.ErrorIs(t, err, context.Canceled)

		handler := httplimit.Limit(redislimit.By(c, func(*http.Request) (string, bool) { return "a", true }))(http.NotFoundHandler())
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest("GET", "/", nil))
		require.Equal(t, http.StatusNotFound, answer.Code)
	}
}

// TestWhatAFallbackAdmittedIsNotGivenBackToTheStore: where others have taken theirs.
func TestWhatAFallbackAdmittedIsNotGivenBackToTheStore(t *testing.T) {
	for _, fallback := range []redislimit.Fallback{redislimit.FailOpen, redislimit.Local(0.5)} {
		store, fails := broken(10)
		c := redislimit.NewWith(store, window(10, time.Hour), redislimit.WithFallback(fallback))
		none := redislimit.NewWith(&fakeStore{}, window(10, time.Hour))
		one := func(struct{}) (string, bool) { return "a", true }
		layers := weir.NewLayers(redislimit.By(c, one), redislimit.By(none, one))
		for i := range 6 {
			*fails = i%2 == 1
			d, err := layers.TakeContext(context.Background(), struct{}{}, 1)
			require.NoError(t, err)
			require.False(t, d.Allowed)
			require.Equal(t, 10, store.left)
		}
		require.EqualValues(t, 3, c.Stats().Fallback)
		require.Equal(t, 3, store.refunds)
	}
}
