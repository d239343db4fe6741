package rueidislimit_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit/rueidislimit"
	"github.com/redis/rueidis"
)

// It needs a Redis, and is not run here.
func ExampleNew() {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{"localhost:6379"},
		DisableCache:      true,
		PipelineMultiplex: -1,                    // one connection
		MaxFlushDelay:     20 * time.Microsecond, // what a request waits for others at most
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	users := rueidislimit.New(client, weir.TokenBucket(weir.PerSecond(10)))

	ok, err := users.Allow(context.Background(), "ann")
	fmt.Println(ok, err)
}
