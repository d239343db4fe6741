package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

const want = `acme   estimate 3000: used 1200, in 100ms, 29 hundred left
acme   estimate 2000: used 2600, in 100ms, 4 hundred left
acme   estimate 1500: not soon enough
acme   estimate 600: used 150, in 300ms, 5 hundred left
globex estimate 4000: used 4000, in 100ms, 1 hundred left
globex estimate 4500: never
`

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		run(&out)
		require.Equal(t, want, out.String())
	})
}

// gateway has a limit of 1000 a second, and a model that always fails after a second.
func gateway(t *testing.T, used int) *Gateway {
	tenants := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1000)))
	t.Cleanup(func() { tenants.Close() })
	return &Gateway{
		Tenants:  tenants,
		Patience: time.Minute,
		Model: func(context.Context, string, int) (string, int, error) {
			time.Sleep(time.Second)
			return "", used, errors.New("the model is overloaded")
		},
	}
}

func TestComplete_WhoGoesAwayTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway(t, 0)
		require.True(t, g.Tenants.AllowN("acme", 1000))
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()

		_, err := g.Complete(ctx, "acme", "", 1000)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 200, g.Tenants.Tokens("acme"))
	})
}

// What a second has filled again is not given back once more.
func TestComplete_AFailureCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway(t, 0)
		_, err := g.Complete(t.Context(), "acme", "", 600)
		require.EqualError(t, err, "the model is overloaded")
		require.Equal(t, 1000, g.Tenants.Tokens("acme"))
		require.True(t, g.Tenants.AllowN("acme", 1000))
		require.False(t, g.Tenants.Allow("acme"))
	})
}

func TestComplete_MoreThanTheEstimateIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway(t, 3000)
		_, err := g.Complete(t.Context(), "acme", "", 1000)
		require.Error(t, err)
		// 1000 of 3000 are filled again; 2000 are owed, of which the bucket holds 1000.
		require.Equal(t, time.Second+time.Millisecond, g.Tenants.Peek("acme", 1).RetryAfter)
	})
}
