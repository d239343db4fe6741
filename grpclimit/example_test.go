package grpclimit_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/goweir/weir/httplimit"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func ExampleLimit() {
	clock := weir.WithClock(weir.NewManualClock()) // a program leaves it out
	server := grpc.NewServer(grpclimit.Limit(
		grpclimit.PerPeer(weir.TokenBucket(weir.PerMinute(2)).Named("peer"), clock),
		grpclimit.Global(weir.New(weir.TokenBucket(weir.PerSecond(100)).Named("server"), clock)),
	)...)
	healthpb.RegisterHealthServer(server, health.NewServer())
	client, stop := connect(server)
	defer stop()

	for range 3 {
		_, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{})
		fmt.Println(err)
		if wait, ok := grpclimit.RetryAfter(err); ok {
			fmt.Println("come back in", wait)
		}
	}
	// Output:
	// <nil>
	// <nil>
	// rpc error: code = ResourceExhausted desc = the quota "peer" is used up; retry after 30s
	// come back in 30s
}

// logins is a service whose one password is "right".
type logins struct {
	healthpb.UnimplementedHealthServer
}

func (logins) Check(_ context.Context, r *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if r.Service != "right" {
		return nil, status.Error(codes.Unauthenticated, "wrong password")
	}
	return &healthpb.HealthCheckResponse{}, nil
}

// Only failed logins count: three in ten minutes for each address.
func ExampleServer() {
	clock := weir.WithClock(weir.NewManualClock()) // a program leaves it out
	attempts := weir.SlidingWindow(weir.Per(3, 10*time.Minute)).Named("failed logins")
	limit := grpclimit.Server{
		Layers: weir.NewLayers(grpclimit.PerPeer(attempts, clock)),
		Settle: func(_ *grpclimit.Call, code codes.Code) int {
			if code == codes.Unauthenticated {
				return 1
			}
			return 0
		},
	}
	server := grpc.NewServer(limit.Options()...)
	healthpb.RegisterHealthServer(server, logins{})
	client, stop := connect(server)
	defer stop()

	for _, password := range strings.Fields("right right right right wrong wrong right wrong right") {
		_, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{Service: password})
		fmt.Println(password, status.Code(err))
	}
	// Output:
	// right OK
	// right OK
	// right OK
	// right OK
	// wrong Unauthenticated
	// wrong Unauthenticated
	// right OK
	// wrong Unauthenticated
	// right ResourceExhausted
}

// feed is a service that sends as much as it may.
type feed struct {
	healthpb.UnimplementedHealthServer
}

func (feed) Watch(_ *healthpb.HealthCheckRequest, s healthpb.Health_WatchServer) error {
	for {
		if err := s.Send(&healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}); err != nil {
			return err
		}
	}
}

// What a peer sends waits its turn by the byte, and all together are sent three messages
// an hour.
func ExampleMessages() {
	clock := weir.WithClock(weir.NewManualClock()) // a program leaves it out
	messages := weir.NewPerClient[string](weir.TokenBucket(weir.PerHour(3)).Named("messages"), clock)
	bytes := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerSecond(1_000_000)))
	limit := grpclimit.Server{
		Layers: weir.NewLayers(grpclimit.Global(weir.New(weir.TokenBucket(weir.PerSecond(100))))),
		Send:   grpclimit.Messages{Layers: weir.NewLayers(weir.By(messages, grpclimit.Method))},
		Receive: grpclimit.Messages{
			Wait: grpclimit.WaitFor(bytes, grpclimit.Peer),
			Cost: func(m any) int { return proto.Size(m.(proto.Message)) },
		},
	}
	server := grpc.NewServer(limit.Options()...)
	healthpb.RegisterHealthServer(server, feed{})
	client, stop := connect(server)
	defer stop()

	watch, err := client.Watch(context.Background(), &healthpb.HealthCheckRequest{})
	for err == nil {
		var update *healthpb.HealthCheckResponse
		if update, err = watch.Recv(); err == nil {
			fmt.Println(update.Status)
		}
	}
	fmt.Println(err)
	// Output:
	// SERVING
	// SERVING
	// SERVING
	// rpc error: code = ResourceExhausted desc = the quota "messages" is used up; retry after 20m0s
}

func ExampleClient() {
	limiter := weir.New(weir.TokenBucket(weir.PerSecond(20)))
	server := grpc.NewServer(grpclimit.Limit(grpclimit.Global(limiter))...)
	healthpb.RegisterHealthServer(server, health.NewServer())

	limit := grpclimit.Client{
		// No more than 20 a second to any server, whatever it allows, and 2 at once.
		Limit: weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(20).WithBurst(2))),
	}
	client, stop := connect(server, limit.DialOptions()...)
	defer stop()

	for range 4 {
		_, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{})
		fmt.Println(status.Code(err))
	}
	fmt.Println(limiter.Stats().Denied, "denied")
	// Output:
	// OK
	// OK
	// OK
	// OK
	// 0 denied
}

// What a server holds back is not sent, and fails at once where nobody has the time to
// wait.
func ExampleWaitError() {
	closed := weir.New(weir.TokenBucket(weir.PerHour(1)), weir.WithClock(weir.NewManualClock()))
	closed.Allow()
	server := grpc.NewServer(grpclimit.Limit(grpclimit.Global(closed))...)
	healthpb.RegisterHealthServer(server, health.NewServer())
	client, stop := connect(server, new(grpclimit.Client).DialOptions()...)
	defer stop()

	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_, err := client.Check(ctx, &healthpb.HealthCheckRequest{})
		cancel()
		wait, _ := grpclimit.RetryAfter(err)
		fmt.Println(status.Code(err), wait.Round(time.Minute))
	}
	// Output:
	// ResourceExhausted 1h0m0s
	// DeadlineExceeded 1h0m0s
}

// Health checks are not limited, and everybody else is behind a proxy.
func ExampleAddress() {
	address := grpclimit.Address(httplimit.AddressKey{
		Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Header:  "X-Forwarded-For", // which these proxies write
	})
	clients := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerSecond(10)))
	limit := grpclimit.Limit(weir.By(clients, func(c *grpclimit.Call) (netip.Prefix, bool) {
		if strings.HasPrefix(c.FullMethod, "/grpc.health.v1.Health/") {
			return netip.Prefix{}, false
		}
		return address(c)
	}))
	server := grpc.NewServer(limit...)
	defer server.Stop()
}

// A handler may do less for those who have little left.
func ExampleFromContext() {
	clock := weir.WithClock(weir.NewManualClock()) // a program leaves it out
	limit := grpclimit.Server{Layers: weir.NewLayers(grpclimit.PerPeer(weir.TokenBucket(weir.PerMinute(3)).Named("peer"), clock))}
	unary := limit.Unary()
	handler := func(ctx context.Context, _ any) (any, error) {
		if d, ok := grpclimit.FromContext(ctx); ok && d.Remaining < 2 {
			return fmt.Sprintf("a short answer: %d of %d left under %s", d.Remaining, d.Limit, d.Policy), nil
		}
		return "a long answer", nil
	}

	for range 3 {
		fmt.Println(unary(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: "/a.Service/Method"}, handler))
	}
	// Output:
	// a long answer <nil>
	// a short answer: 1 of 3 left under peer <nil>
	// a short answer: 0 of 3 left under peer <nil>
}
