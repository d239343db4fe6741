package redislimit

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// goRedis is the Store of go-redis.
type goRedis struct {
	client redis.Scripter
	prompt bool // it returns when a context is done
}

func newGoRedis(client redis.UniversalClient) goRedis {
	g := goRedis{client: client}
	switch c := client.(type) {
	case interface{ Options() *redis.Options }:
		g.prompt = c.Options().ContextTimeoutEnabled
	case interface{ Options() *redis.ClusterOptions }:
		g.prompt = c.Options().ContextTimeoutEnabled
	case interface{ Options() *redis.RingOptions }:
		g.prompt = c.Options().ContextTimeoutEnabled
	}
	return g
}

func (g goRedis) Run(ctx context.Context, s *Script, keys, args []string) (Reply, error) {
	values := make([]any, len(args))
	for i, arg := range args {
		values[i] = arg
	}
	if g.prompt {
		return g.run(ctx, s, keys, values)
	}
	type result struct {
		reply Reply
		err   error
	}
	done := make(chan result, 1)
	go func() {
		reply, err := g.run(ctx, s, keys, values)
		done <- result{reply, err}
	}()
	select {
	case r := <-done:
		return r.reply, r.err
	case <-ctx.Done():
		return Reply{}, ctx.Err()
	}
}

func (g goRedis) run(ctx context.Context, s *Script, keys []string, args []any) (Reply, error) {
	cmd := g.client.EvalSha(ctx, s.SHA1, keys, args...)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = g.client.Eval(ctx, s.Source, keys, args...)
	}
	answer, err := cmd.Slice()
	if err != nil {
		return Reply{}, err
	}
	reply := Reply{Numbers: make([]int64, 0, len(answer))}
	for _, v := range answer {
		switch v := v.(type) {
		case int64:
			reply.Numbers = append(reply.Numbers, v)
		case string:
			reply.Text = v
		default:
			return Reply{}, fmt.Errorf("redislimit: the script answered with a %T", v)
		}
	}
	return reply, nil
}
