package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

func TestLoadSaysWhetherAPromiseIsKept(t *testing.T) {
	kept := httptest.NewServer(httplimit.Limit(httplimit.PerHeader("X-Api-Key", weir.FixedWindow(weir.PerHour(3)).Named("key")))(http.NotFoundHandler()))
	defer kept.Close()
	code, out, errs := weirWith(nil, "load", "-url", kept.URL, "-rate", "100", "-for", "300ms", "-header", "X-Api-Key: k", "-json")
	require.Zero(t, code, errs)
	var r loadReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.True(t, r.Kept)
	require.Equal(t, 3, r.Admitted)
	require.EqualValues(t, 3, r.Quotas[0].Count)

	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("RateLimit-Policy", `"a";q=1;w=60`) }))
	defer broken.Close()
	code, out, _ = weirWith(nil, "load", "-url", broken.URL, "-rate", "500", "-for", "300ms")
	require.Equal(t, 1, code)
	require.Contains(t, out, "The server breaks its promise")

	silent := httptest.NewServer(http.NotFoundHandler())
	defer silent.Close()
	require.Contains(t, weirRun(t, "load", "-url", silent.URL, "-for", "50ms"), "no quota in RateLimit-Policy")
}

func TestLoadAsksNobodyElse(t *testing.T) {
	for want, args := range map[string][]string{
		"example.com is not this machine": {"-url", "http://example.com/"},
		"10.0.0.1 is not this machine":    {"-url", "http://10.0.0.1:80/"},
		"it is as http://127.0.0.1:8080/": {"-url", "127.0.0.1:8080"},
		"between 1 and 10000":             {"-url", "http://[::1]/", "-rate", "10001"},
		"above 0 and at most":             {"-url", "http://LOCALHOST/", "-for", "2h"},
		"it is as 'Name: value'":          {"-url", "http://localhost/", "-header", "x"},
		"load takes no arguments":         {"-url", "http://localhost/", "x"},
		`invalid method "G T"`:            {"-url", "http://localhost/", "-method", "G T"},
		`Required flag "url" not set`:     {},
	} {
		code, out, errs := weirWith(nil, append([]string{"load"}, args...)...)
		require.Equal(t, 2, code, errs)
		require.Contains(t, errs, want)
		require.Empty(t, out)
	}
	code, _, errs := weirWith(nil, "load", "-url", "http://127.0.0.1:1/", "-for", "50ms")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "no answer")
}
