package otellimit_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/goweir/weir/otellimit"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func ExampleRegister() {
	reader := sdk.NewManualReader() // a program has one that exports
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	logins := weir.NewPerClient[string](weir.TokenBucket(weir.PerMinute(5)))
	defer logins.Close()
	api := weir.New(weir.TokenBucket(weir.PerSecond(100)))

	limits, err := otellimit.Register(provider) // or otel.GetMeterProvider()
	if err != nil {
		log.Fatal(err)
	}
	defer limits.Close()
	limits.Add("logins", logins)
	limits.Add("api", api)

	for range 7 {
		logins.Allow("ann")
	}
	var collected metricdata.ResourceMetrics
	fmt.Println(reader.Collect(context.Background(), &collected))
	for _, point := range collected.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints {
		if name, _ := point.Attributes.Value("weir.limiter"); name.AsString() == "logins" {
			decision, _ := point.Attributes.Value("weir.decision")
			fmt.Println(decision.AsString(), point.Value)
		}
	}
	// Unordered output:
	// <nil>
	// allowed 5
	// denied 2
}

func ExampleMiddleware() {
	users := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(10)))
	defer users.Close()
	hello := http.NotFoundHandler()

	limit := otellimit.Middleware("users", &httplimit.Middleware{
		Layers: weir.NewLayers(weir.By(users, httplimit.HeaderKey("X-Api-Key"))),
	})
	http.Handle("GET /hello", limit(hello)) // behind otelhttp or another that begins a span
}

func ExampleAnnotate() {
	jobs := weir.NewPerClient[string](weir.TokenBucket(weir.PerHour(20)))
	defer jobs.Close()
	ctx, tenant := context.Background(), "acme" // a request's

	d := jobs.Take(tenant, 1)
	otellimit.Annotate(ctx, "jobs", d)
	if !d.Allowed {
		fmt.Println("too many jobs, try again in", d.RetryAfter)
	}
	fmt.Println(d.Remaining)
	// Output: 19
}
