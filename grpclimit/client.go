package grpclimit

import (
	"cmp"
	"context"
	"time"

	"github.com/goweir/weir"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// defaultMaxWait is enough for a quota by the minute, and for the queue behind it. One
	// by the hour may want a caller to be told, and to come back.
	defaultMaxWait = 2 * time.Minute
	// longestHold is how long an answer is believed at most.
	longestHold = 24 * time.Hour
)

// A Client limits the RPCs of a grpc.ClientConn, waiting their turn, and obeys what
// servers answer, by the interceptors that it returns.
//
// An answer with codes.ResourceExhausted or codes.Unavailable and a google.rpc.RetryInfo
// holds back later RPCs with the same key until its retry_delay is over. Of several
// answers the one counts that ends last. None is believed for longer than a day, and
// what has no RetryInfo says nothing. When the hold is over all go that have waited
// for it: with a Limit at its pace.
//
// An RPC waits within its context. If it would be held back past the deadline it
// fails at once with codes.DeadlineExceeded, and if that is longer than MaxWait, with
// codes.ResourceExhausted; so it does if its turn at Limit would come after the
// deadline, or never. Then nothing was sent, and nothing is consumed. These errors are
// a [*WaitError].
//
// Nothing is sent twice. What grpc sends again by itself, by a retry policy of its
// service config or because the server has not seen it, is one RPC, takes one turn and
// is not held back: what counts is its last answer. A stream takes its turn when it is
// opened.
//
// The zero Client obeys, and has no limit of its own. One may serve any number of
// connections. It must not be copied after first use, and its fields must not be
// changed then.
type Client struct {
	// Limit is a limit of the client's own, by Key, which others may use and observe too.
	// An RPC takes one when the server does not hold it back, and waits until there is
	// one. If it is nil there is no such limit.
	Limit *weir.PerClient[string]

	// Key says which RPCs wait for each other, at Limit and for what a server asks. By
	// default it is the target, as it was given to grpc.NewClient. Where a server limits
	// each method by itself, return target + method.
	Key func(target, method string) string

	// MaxWait is how long an RPC is held back at most for what a server asked. Its own
	// turn at Limit is not counted. If it is 0, that is two minutes; if it is negative,
	// no RPC is held back: it fails.
	MaxWait time.Duration

	holds holds
}

// DialOptions returns Unary and Stream as options of grpc.NewClient, behind the
// interceptors of the options before them.
func (c *Client) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(c.Unary()), grpc.WithChainStreamInterceptor(c.Stream())}
}

// Unary returns the interceptor of unary RPCs.
func (c *Client) Unary() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		key := c.key(cc, method)
		if err := c.wait(ctx, key); err != nil {
			return err
		}
		err := invoker(ctx, method, req, reply, cc, opts...)
		c.learn(key, err)
		return err
	}
}

// Stream returns the interceptor of streams.
func (c *Client) Stream() grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		key := c.key(cc, method)
		if err := c.wait(ctx, key); err != nil {
			return nil, err
		}
		s, err := streamer(ctx, desc, cc, method, opts...)
		if err != nil {
			c.learn(key, err)
			return nil, err
		}
		return &clientStream{ClientStream: s, client: c, key: key}, nil
	}
}

// Held returns how long RPCs with a key are held back yet: 0 if they are not.
func (c *Client) Held(key string) time.Duration { return c.holds.left(key) }

func (c *Client) key(cc *grpc.ClientConn, method string) string {
	if c.Key != nil {
		return c.Key(cc.Target(), method)
	}
	return cc.Target()
}

// wait waits until an RPC may be sent: first for the server, so that who is held back
// takes nothing of Limit, and then for its own turn, during which the server may have
// changed its mind.
func (c *Client) wait(ctx context.Context, key string) error {
	patience := cmp.Or(c.MaxWait, defaultMaxWait)
	for {
		held, err := c.holds.wait(ctx, key, patience)
		if err != nil || c.Limit == nil {
			return err
		}
		patience -= held
		if err := c.Limit.Wait(ctx, key); err != nil {
			return &WaitError{Key: key, Err: err}
		}
		if c.holds.left(key) == 0 {
			return nil
		}
		c.Limit.Refund(key, 1)
	}
}

// learn takes to heart what an answer asks.
func (c *Client) learn(key string, err error) {
	if code := status.Code(err); code != codes.ResourceExhausted && code != codes.Unavailable {
		return
	}
	if d, ok := RetryAfter(err); ok {
		c.holds.extend(key, min(d, longestHold))
	}
}

// A clientStream learns from what ends it.
type clientStream struct {
	grpc.ClientStream
	client *Client
	key    string
	over   bool // an error that is returned again asks for nothing more
}

func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil && !s.over {
		s.over = true
		s.client.learn(s.key, err)
	}
	return err
}
