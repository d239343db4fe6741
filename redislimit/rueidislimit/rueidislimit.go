// Package rueidislimit gives redislimit the client library rueidis, which puts the
// requests of all goroutines into pipelines by itself: where many ask at once it
// needs a fraction of the system calls.
package rueidislimit

import (
	"context"
	"errors"
	"fmt"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/redis/rueidis"
)

// New is redislimit.New for a client of rueidis: of one server, a cluster, or
// sentinels. Set ConnWriteTimeout in its options, to a second say: a connection on which
// nothing comes back any more is kept for that long, and by default for ten.
func New(client rueidis.Client, p weir.Policy, opts ...redislimit.Option) *redislimit.PerClient {
	if client == nil {
		panic("rueidislimit: New needs a client of rueidis, and it is nil")
	}
	return redislimit.NewWith(store{client}, p, opts...)
}

// store is the redislimit.Store of rueidis.
type store struct{ client rueidis.Client }

func (s store) Colocated() bool { return s.client.Mode() != rueidis.ClientModeCluster }

func (s store) Call(ctx context.Context, l *redislimit.Library, keys, args []string) (redislimit.Reply, error) {
	result := s.call(ctx, l, keys, args)
	for tries := 0; redislimit.NotFound(result.Error()) && tries < 3; tries++ { // somebody may take it away again
		if err := s.load(ctx, l); err != nil {
			return redislimit.Reply{}, err
		}
		result = s.call(ctx, l, keys, args)
	}
	message, err := result.ToMessage()
	if err != nil {
		if _, ok := rueidis.IsRedisErr(err); ok {
			err = refusal{err}
		}
		return redislimit.Reply{}, err
	}
	if message.IsString() {
		text, err := message.ToString()
		return redislimit.Reply{Text: text}, err
	}
	answer, err := message.ToArray()
	if err != nil {
		return redislimit.Reply{}, err
	}
	reply := redislimit.Reply{Numbers: make([]int64, 0, len(answer))}
	for _, m := range answer {
		if m.IsInt64() {
			number, _ := m.AsInt64() // it is one
			reply.Numbers = append(reply.Numbers, number)
		} else if reply.Text, err = m.ToString(); err != nil {
			return redislimit.Reply{}, fmt.Errorf("rueidislimit: in the function's answer: %w", err)
		}
	}
	return reply, nil
}

func (s store) call(ctx context.Context, l *redislimit.Library, keys, args []string) rueidis.RedisResult {
	return s.client.Do(ctx, s.client.B().Fcall().Function(l.Function).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
}

// load loads a library wherever a server answers. Replicas refuse it, and get it from
// their masters.
func (s store) load(ctx context.Context, l *redislimit.Library) error {
	var errs []error
	loaded := false
	for _, node := range s.client.Nodes() {
		err := node.Do(ctx, node.B().FunctionLoad().FunctionCode(l.Source).Build()).Error()
		if err == nil || redislimit.Exists(err) {
			loaded = true
		} else {
			errs = append(errs, err)
		}
	}
	if loaded {
		return nil
	}
	return errors.Join(errs...)
}

// A refusal is an error that the server has answered with, marked as redislimit
// knows those of go-redis.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func (refusal) RedisError() {}
