// Tokens limits what each tenant of a language model may use: not requests, but tokens. What a
// request costs is known when the answer is there, so an estimate is reserved before and settled
// after: what was not used is given back, and what was used beyond it is charged.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/goweir/weir"
)

// A Model answers a prompt with at most so many tokens, and says how many it used in all.
type Model func(ctx context.Context, prompt string, most int) (answer string, used int, err error)

// A Gateway stands in front of a model.
type Gateway struct {
	Tenants  *weir.PerClient[string]
	Patience time.Duration // how long a request may wait for its tenant's tokens
	Model    Model
}

// ErrBusy says that a tenant has no tokens for a request in the next time.
var ErrBusy = errors.New("too many tokens in use")

// Complete asks the model for a tenant, as soon as the tenant's limit allows.
func (g *Gateway) Complete(ctx context.Context, tenant, prompt string, most int) (string, error) {
	estimate := len(prompt)/4 + most
	receipt := g.Tenants.ReserveWithin(tenant, estimate, g.Patience)
	if !receipt.OK() { // nothing is taken
		return "", fmt.Errorf("%w: %d for %s: %w", ErrBusy, estimate, tenant, receipt.Err())
	}
	select {
	case <-time.After(receipt.Delay()):
	case <-ctx.Done():
		receipt.Cancel() // as if it had never been
		return "", ctx.Err()
	}
	answer, used, err := g.Model(ctx, prompt, most)
	receipt.Settle(used)
	return answer, err
}

func main() { run(os.Stdout) }

func run(w io.Writer) {
	// 60,000 a minute are one a millisecond; at once a tenant may use 4000.
	tenants := weir.NewPerClient[string](weir.TokenBucket(weir.PerMinute(60_000).WithBurst(4000)))
	defer tenants.Close()

	prompt := string(make([]byte, 2000)) // about 500 tokens
	for _, request := range []struct {
		tenant     string
		most, used int
	}{
		{"acme", 2500, 1200},   // most of the estimate comes back
		{"acme", 1500, 2600},   // 600 more than the estimate
		{"acme", 1000, 0},      // 1100 are missing, and would be there in 1.1 s: too late
		{"acme", 100, 150},     // 200 are missing: it waits 200 ms
		{"globex", 3500, 4000}, // somebody else's tokens
		{"globex", 4000, 0},    // 4500 will never be there at once
	} {
		gateway := &Gateway{Tenants: tenants, Patience: 500 * time.Millisecond, Model: fake(request.used)}
		begin := time.Now()
		_, err := gateway.Complete(context.Background(), request.tenant, prompt, request.most)
		fmt.Fprintf(w, "%-6s estimate %d: ", request.tenant, request.most+500)
		switch took := time.Since(begin).Round(10 * time.Millisecond); {
		case errors.Is(err, weir.ErrTooLong):
			fmt.Fprintln(w, "not soon enough")
		case errors.Is(err, weir.ErrNever):
			fmt.Fprintln(w, "never")
		default:
			fmt.Fprintf(w, "used %d, in %v, %d hundred left\n", request.used, took, tenants.Tokens(request.tenant)/100)
		}
	}
}

// fake is a model that takes 100 ms.
func fake(used int) Model {
	return func(context.Context, string, int) (string, int, error) {
		time.Sleep(100 * time.Millisecond)
		return "42", used, nil
	}
}
