package benchmarks

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/debuglimit"
)

// BenchmarkDebugPage_Reading is what open pages cost a second, however many there are: a reading of a
// hundred limiters with a million clients, of one of which something is reserved, so that
// all have to be looked through for who waits. It is asked for as ?format=json, which says more than a page is
// told each second.
func BenchmarkDebugPage_Reading(b *testing.B) {
	const limiters = 100
	page := new(debuglimit.Page)
	for i := range limiters {
		c := weir.NewPerClient[int](weir.MustParsePolicy("all(token-bucket 10/s, sliding-window 1000/h)"), weir.WithTopDenied(100))
		for key := range clients(1_000_000) / limiters {
			c.Allow(key)
		}
		c.Reserve(0, 20)
		page.Add(fmt.Sprint("limiter ", i), debuglimit.PerClient(c, debuglimit.Keys[int]{}))
	}
	request := httptest.NewRequest("GET", "http://localhost/debug/weir?format=json", nil)
	request.RemoteAddr = "127.0.0.1:5000"
	b.ReportAllocs()
	for b.Loop() {
		page.ServeHTTP(httptest.NewRecorder(), request)
	}
	b.ReportMetric(float64(b.Elapsed().Seconds())/float64(b.N)*100, "%core")
}

// BenchmarkPerClient_TopDenied is what it costs a denial to be counted by its client, in a flood of
// one client and in one of many.
func BenchmarkPerClient_TopDenied(b *testing.B) {
	for _, count := range []struct {
		name string
		opts []weir.Option
	}{{"counted=no", nil}, {"counted=yes", []weir.Option{weir.WithTopDenied(100)}}} {
		for _, flood := range []int{1, 10_000} {
			c := weir.NewPerClient[int](weir.TokenBucket(weir.PerDay(1)), count.opts...)
			for key := range flood {
				c.Allow(key)
			}
			b.Run(fmt.Sprintf("%s/flooding=%d/serial", count.name, flood), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					c.Allow(i % flood)
				}
			})
			b.Run(fmt.Sprintf("%s/flooding=%d/parallel", count.name, flood), func(b *testing.B) {
				b.RunParallel(func(pb *testing.PB) {
					for i := 0; pb.Next(); i++ {
						c.Allow(i % flood)
					}
				})
			})
		}
	}
}
