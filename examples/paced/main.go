// Paced fetches pages on a few workers that together go no faster than the server behind the pages
// allows: each waits for its turn. When it is told to stop, what was begun is finished, nobody sleeps
// on, and the pages that nobody fetched are handed back.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// A Pool fetches pages on several workers.
type Pool struct {
	Limit   *weir.Limiter
	Workers int
	Fetch   func(page int)
}

// Run returns when all workers have ended, with the pages that are left and why, if any are.
func (p *Pool) Run(ctx context.Context, pages []int) (left []int, err error) {
	queue := make(chan int, len(pages))
	for _, page := range pages {
		queue <- page
	}
	close(queue)

	var workers sync.WaitGroup
	var mu sync.Mutex // guards left and err
	for range p.Workers {
		workers.Go(func() {
			for page := range queue {
				// Who waits is served in order. Once ctx is done, or its deadline comes before the turn
				// does, Wait fails at once and takes nothing, so the rest of the queue is quickly read.
				if why := p.Limit.Wait(ctx); why != nil {
					mu.Lock()
					left, err = append(left, page), why
					mu.Unlock()
					continue
				}
				p.Fetch(page)
			}
		})
	}
	workers.Wait()
	slices.Sort(left)
	return left, err
}

func main() {
	// An interrupt ends it as the timer below does. A second one kills it.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	run(ctx, os.Stdout)
}

func run(ctx context.Context, w io.Writer) {
	pool := &Pool{
		Limit:   weir.New(weir.TokenBucket(weir.PerSecond(20).WithBurst(2))),
		Workers: 4,
		Fetch:   func(int) { time.Sleep(30 * time.Millisecond) },
	}
	fetch := func(ctx context.Context, pages ...int) {
		begin := time.Now()
		left, err := pool.Run(ctx, pages)
		took := time.Since(begin).Round(10 * time.Millisecond)
		fmt.Fprintf(w, "%d pages in %v, %d left", len(pages)-len(left), took, len(left))
		if err != nil {
			fmt.Fprintf(w, ": %v", err)
		}
		fmt.Fprintln(w)
	}

	fetch(ctx, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) // two at once, then one each 50 ms

	stopped, cancel := context.WithCancel(ctx)
	defer cancel()
	time.AfterFunc(190*time.Millisecond, cancel)
	fetch(stopped, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)
}
