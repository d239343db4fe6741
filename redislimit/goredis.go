package redislimit

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// goRedis is the Store of go-redis.
type goRedis struct {
	client redis.UniversalClient
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

func (g goRedis) Call(ctx context.Context, l *Library, keys, args []string) (Reply, error) {
	if g.prompt {
		return g.call(ctx, l, keys, args)
	}
	type result struct {
		reply Reply
		err   error
	}
	done := make(chan result, 1)
	go func() {
		reply, err := g.call(ctx, l, keys, args)
		done <- result{reply, err}
	}()
	select {
	case r := <-done:
		return r.reply, r.err
	case <-ctx.Done():
		return Reply{}, ctx.Err()
	}
}

func (g goRedis) call(ctx context.Context, l *Library, keys, args []string) (Reply, error) {
	values := make([]any, len(args))
	for i, arg := range args {
		values[i] = arg
	}
	cmd := g.client.FCall(ctx, l.Function, keys, values...)
	if NotFound(cmd.Err()) {
		if err := g.load(ctx, l); err != nil {
			return Reply{}, err
		}
		cmd = g.client.FCall(ctx, l.Function, keys, values...)
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
			return Reply{}, fmt.Errorf("redislimit: the function answered with a %T", v)
		}
	}
	return reply, nil
}

// load loads a library wherever there may be states.
func (g goRedis) load(ctx context.Context, l *Library) error {
	on := func(ctx context.Context, c *redis.Client) error {
		if err := c.FunctionLoad(ctx, l.Source).Err(); err != nil && !Exists(err) {
			return err
		}
		return nil
	}
	switch c := g.client.(type) {
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, on)
	case *redis.Ring:
		return c.ForEachShard(ctx, on)
	}
	if err := g.client.FunctionLoad(ctx, l.Source).Err(); err != nil && !Exists(err) {
		return err
	}
	return nil
}
