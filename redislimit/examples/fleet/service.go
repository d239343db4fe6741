package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/goweir/weir/redislimit"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// policy is what each client has, of all processes together.
var policy = weir.TokenBucket(weir.PerSecond(100).WithBurst(100))

// byItself is what one process admits of a client while Redis is away: redislimit.Local(1/4) of it.
var byItself = weir.TokenBucket(weir.PerSecond(25).WithBurst(25))

// The answers of the service: who admitted the request.
const (
	admittedByRedis  = "admitted by Redis\n"
	admittedByItself = "admitted by the process itself\n"
)

// storeVariable names, to one of the processes, where Redis is.
const storeVariable = "FLEET_REDIS"

// newHandler returns the service, which is what a program of yours would have.
func newHandler(clients *redislimit.PerClient) http.Handler {
	hello := func(w http.ResponseWriter, r *http.Request) {
		if d, _ := httplimit.FromContext(r.Context()); d.Limit < policy.MaxWithin(1) {
			_, _ = io.WriteString(w, admittedByItself)
			return
		}
		_, _ = io.WriteString(w, admittedByRedis)
	}
	limit := httplimit.Limit(redislimit.By(clients, httplimit.HeaderKey("X-Api-Key")))
	return limit(http.HandlerFunc(hello))
}

// serve is one of the processes. It writes its address to standard output, and ends when standard input
// does, as it does when its parent is gone.
func serve(addr string) error {
	logging.Disable() // of go-redis: a line for each connection that Redis refuses
	client := redis.NewClient(&redis.Options{
		Addr:                  addr,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1, // the process decides by itself sooner, and a retry may be charged twice
	})
	defer client.Close()
	clients := redislimit.New(client, policy,
		redislimit.WithPrefix("fleet:"),
		redislimit.WithFallback(redislimit.Local(1./processes)))
	defer clients.Close()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newHandler(clients), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		ended <- server.Shutdown(grace)
	}()
	fmt.Println(listener.Addr())
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return <-ended
}
