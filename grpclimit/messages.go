package grpclimit

import (
	"context"
	"errors"

	"github.com/goweir/weir"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Messages are the limits of a stream's messages in one direction. Each message that
// is received has to pass before the handler gets it, and each that is sent before it
// goes out. The zero Messages limit nothing; otherwise set one of Layers and Wait.
//
// What does not pass is lost, so it ends the stream: RecvMsg and SendMsg return the
// error from then on, the handler's context is done, and the client is sent the error
// whatever the handler returns. A RecvMsg that waits for the client meanwhile returns
// with the client's next message, or when the handler returns.
//
// A message is counted once. One that is denied, or whose wait is cut short, takes
// nothing. One that could not be sent after it had passed stays charged.
type Messages struct {
	// Layers deny: a message that does not pass ends the stream with the error of
	// Server.Denied. Call.Message is the message, for the cost of a layer.
	Layers *weir.Layers[*Call]

	// Wait waits until n may pass, within ctx, which is the stream's; see WaitFor. While a
	// received message waits no other is read, so that the client is slowed down. An
	// error ends the stream: with the code of the context if that is done or its
	// deadline too near, with codes.ResourceExhausted for weir.ErrNever, ErrQueueFull
	// and ErrTooLong, and otherwise as Server.Error says.
	Wait func(ctx context.Context, c *Call, n int) error

	// Cost is what a message takes, its bytes for example; by default 1. One of 0 is
	// free, a negative one ends the stream.
	Cost func(message any) int
}

// WaitFor returns a Wait that has each message take its turn at a limiter per client,
// in the order in which they came. key says who the client is; with false the message
// does not wait. For a limit that all streams share, call WaitN of a weir.Limiter. It
// panics if one of the two is nil.
func WaitFor[K comparable](clients *weir.PerClient[K], key func(*Call) (K, bool)) func(context.Context, *Call, int) error {
	if clients == nil || key == nil {
		panic("grpclimit: WaitFor needs a PerClient and a key function, and one of them is nil")
	}
	return func(ctx context.Context, c *Call, n int) error {
		k, applies := key(c)
		if !applies {
			return nil
		}
		return clients.WaitN(ctx, k, n)
	}
}

func (m *Messages) limit() bool { return m.Layers != nil || m.Wait != nil }

func (m *Messages) mustMakeSense(name string) {
	switch {
	case m.Layers != nil && m.Wait != nil:
		panic("grpclimit: Server." + name + " has Layers, which deny, and Wait: set one of them")
	case m.Cost != nil && !m.limit():
		panic("grpclimit: Server." + name + " has a Cost and neither Layers nor Wait: nothing would take it")
	}
}

// pass returns the error that ends the stream, nil if a message passes.
func (s *Server) pass(c *Call, m *Messages) error {
	n := 1
	if m.Cost != nil {
		n = m.Cost(c.Message)
	}
	if m.Layers != nil {
		d, err := m.Layers.TakeContext(c.Context, c, n)
		return s.answer(c, &d, err)
	}
	err := m.Wait(c.Context, c, n)
	_, hurry := c.Context.Deadline()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, weir.ErrNever):
		return s.answer(c, &weir.Decision{RetryAfter: weir.Never}, nil)
	case errors.Is(err, weir.ErrQueueFull), errors.Is(err, weir.ErrTooLong):
		return s.answer(c, &weir.Decision{}, nil)
	case hurry && errors.Is(err, context.DeadlineExceeded): // which may be still to come
		return status.Error(codes.DeadlineExceeded, "the message's turn would come after the deadline")
	}
	return s.failed(c, err)
}
