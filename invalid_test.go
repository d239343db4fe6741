package weir_test

import (
	"math"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// TestInvalidPolicies: the constructors take anything, Validate says which number is wrong, New and
// NewPerClient panic with just that.
func TestInvalidPolicies(t *testing.T) {
	l := weir.PerSecond(10)
	good := weir.TokenBucket(l)
	type invalid struct {
		policy weir.Policy
		says   []string
	}
	cases := []invalid{
		{weir.Policy{}, nil},
		{weir.TokenBucket(weir.PerSecond(-7)), []string{"-7"}},
		{weir.TokenBucket(l.WithBurst(-3)), []string{"-3"}},
		{weir.TokenBucket(weir.Per(1, 0)), []string{"0s"}},
		{weir.TokenBucket(weir.Per(1, -5*time.Second)), []string{"-5s"}},
		{weir.TokenBucket(weir.Every(0)), []string{"0s"}},
		{weir.LeakyBucket(weir.Per(1, 31*365*24*time.Hour), 0), []string{"30 years"}},
		{weir.TokenBucket(weir.PerDay(1).WithBurst(11_000)), []string{"30 years", "11000"}},
		{weir.TokenBucket(weir.PerSecond(1).WithBurst(math.MaxInt)), []string{"30 years"}},
		{weir.LeakyBucket(l, -2), []string{"-2", "queue"}},
		{weir.FixedWindow(l.WithBurst(4)), []string{"burst", "4", "fixed-window"}},
		{weir.SlidingWindow(l.WithBurst(40)), []string{"burst", "40", "sliding-window"}},
		{weir.SlidingCounter(l.WithBurst(1)), []string{"burst", "1", "sliding-counter"}},
		{weir.SlidingCounter(weir.PerHour(-1)), []string{"-1"}},
		{weir.BurstReserve(l, weir.PerSecond(-9)), []string{"-9"}},
		{weir.BurstReserve(weir.PerSecond(-9), l), []string{"-9"}},
		{weir.All(), []string{"all"}},
		{weir.FirstOf(), []string{"first-of"}},
		{weir.All(good, weir.Policy{}), []string{"2"}},
		{weir.FirstOf(weir.All(good), weir.All(good, weir.FirstOf(good, weir.TokenBucket(weir.PerSecond(-7))))), []string{"-7"}},
		{weir.FirstOf(weir.All()), []string{"all"}},
	}
	for _, n := range ints(math.MaxInt64) { // a token takes an eighth of a nanosecond
		cases = append(cases, invalid{weir.TokenBucket(weir.Per(n, time.Hour).WithBurst(n)), []string{"30 years"}})
	}
	for _, test := range cases {
		err := test.policy.Validate()
		require.Error(t, err, "%v", test.policy)
		require.Regexp(t, "^weir: ", err.Error())
		require.NotRegexp(t, "weir: .*weir: ", err.Error())
		for _, s := range test.says {
			require.Contains(t, err.Error(), s)
		}
		require.Equal(t, err.Error(), panicText(t, func() { weir.New(test.policy) }))
		require.Equal(t, err.Error(), panicText(t, func() { weir.NewPerClient[string](test.policy) }))
		require.Equal(t, err.Error(), test.policy.Named("x").Validate().Error(), "a name does not make it valid")
		require.Zero(t, test.policy.MaxWithin(time.Second))
		require.NotEmpty(t, test.policy.String())
	}
	var zero weir.Policy
	require.Nil(t, zero.Parts())
	_, ok := zero.Limit()
	require.False(t, ok)
	require.True(t, zero.Equal(weir.Policy{}))
	require.Zero(t, zero.Algorithm())
	require.NotEmpty(t, zero.Name())
	require.True(t, zero.Equal(zero.Named("x")))
	require.True(t, good.Equal(good.Named("x").Named("")))
}
