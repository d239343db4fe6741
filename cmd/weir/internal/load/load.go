package load

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

// Limits of what is asked of a server.
const (
	MostRate   = 10_000 // requests a second
	MostFor    = time.Hour
	mostAtOnce = 64      // requests under way
	mostBody   = 1 << 20 // bytes read of an answer
)

// Options say what is asked.
type Options struct {
	Method, URL string
	Header      http.Header
	Rate        int // requests a second
	For         time.Duration
	Client      *http.Client
}

// An Answer is what became of a request. Its instants are since the beginning.
type Answer struct {
	Sent, Received time.Duration
	Status         int // 0 if there was none
	Denied         bool
	RetryAfter     time.Duration // of a denial: when it says to come back; 0 if it does not
	Err            error
}

// A Result is what was seen.
type Result struct {
	Answers []Answer // in the order of Sent
	Quotas  []Quota  // that were advertised, in their order
	// Returns counts first requests after the time that a denial told, and Welcome
	// those of them that were admitted.
	Returns, Welcome int
	// Stopped says that the server asked to stay away for longer than there was left.
	Stopped time.Duration
}

// Run asks until the time is over or ctx is done. While a denial tells to stay away
// nothing is asked, and then one request alone, to see whether it was told right.
func Run(ctx context.Context, o Options) Result {
	ctx, cancel := context.WithTimeout(ctx, o.For)
	defer cancel()
	r := &runner{options: o, start: time.Now()}
	pace := weir.New(weir.LeakyBucket(weir.PerSecond(o.Rate), 1))
	places := make(chan struct{}, mostAtOnce)
	var all sync.WaitGroup
	for pace.Wait(ctx) == nil {
		if hold := time.Duration(r.hold.Load()); hold > 0 {
			all.Wait()
			if !r.comeBack(ctx) {
				break
			}
			continue
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		all.Go(func() {
			r.ask()
			<-places
		})
	}
	all.Wait()
	slices.SortFunc(r.result.Answers, func(a, b Answer) int { return int(a.Sent - b.Sent) })
	return r.result
}

type runner struct {
	options Options
	start   time.Time
	hold    atomic.Int64 // until when to stay away, since start; 0 if nobody said so

	mu     sync.Mutex
	result Result
}

// comeBack waits until it may, and asks once. It reports false if that is too late.
func (r *runner) comeBack(ctx context.Context) bool {
	until := time.Duration(r.hold.Load())
	if until > r.options.For {
		r.mu.Lock()
		r.result.Stopped = until - r.options.For
		r.mu.Unlock()
		return false
	}
	timer := time.NewTimer(until - time.Since(r.start))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	r.hold.Store(0)
	a := r.ask()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result.Returns++; a.Err == nil && !a.Denied {
		r.result.Welcome++
	}
	return true
}

// ask sends a request. It is not cut off when the time is over: what it was admitted
// has to be counted.
func (r *runner) ask() Answer {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a := Answer{Sent: time.Since(r.start)}
	header := r.send(ctx, &a)
	a.Received = time.Since(r.start)
	if a.Denied {
		stay := a.RetryAfter
		if stay == 0 {
			stay = time.Second // it does not say: as little as Retry-After could
		}
		for until := int64(a.Received + stay); ; {
			was := r.hold.Load()
			if was >= until || r.hold.CompareAndSwap(was, until) {
				break
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Answers = append(r.result.Answers, a)
	r.result.Quotas = merge(r.result.Quotas, readQuotas(header))
	return a
}

func (r *runner) send(ctx context.Context, a *Answer) http.Header {
	request, err := http.NewRequestWithContext(ctx, r.options.Method, r.options.URL, nil)
	if err != nil {
		a.Err = err
		return nil
	}
	request.Header = r.options.Header.Clone()
	response, err := r.options.Client.Do(request)
	if err != nil {
		a.Err = err
		return nil
	}
	defer response.Body.Close()
	io.CopyN(io.Discard, response.Body, mostBody) // so that the connection can be used again
	a.Status = response.StatusCode
	a.RetryAfter = retryAfter(response.Header, time.Now())
	a.Denied = a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable && a.RetryAfter > 0
	return response.Header
}
