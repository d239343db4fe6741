package redislimit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// goRedis is the Store of go-redis.
type goRedis struct {
	client redis.UniversalClient
	prompt bool          // it returns at a context's deadline
	slots  chan struct{} // of those that may not
}

// mostHanging bounds how many goroutines wait for a client that is not prompt.
const mostHanging = 1024

func newGoRedis(client redis.UniversalClient) goRedis {
	g := goRedis{client: client, slots: make(chan struct{}, mostHanging)}
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

func (g goRedis) Colocated() bool {
	_, one := g.client.(*redis.Client)
	return one
}

func (g goRedis) Call(ctx context.Context, l *Library, keys, args []string) (Reply, error) {
	if g.prompt {
		return g.call(ctx, l, keys, args)
	}
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return Reply{}, ctx.Err()
	}
	type result struct {
		reply Reply
		err   error
	}
	done := make(chan result, 1)
	go func() {
		reply, err := g.call(ctx, l, keys, args)
		<-g.slots
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
	cmd := g.fcall(ctx, l, keys, args)
	for tries := 0; NotFound(cmd.Err()) && tries < 3; tries++ { // somebody may take it away again
		if err := g.load(ctx, l); err != nil {
			return Reply{}, err
		}
		cmd = g.fcall(ctx, l, keys, args)
	}
	answer, err := cmd.Result()
	if err != nil {
		if cluster, ok := g.client.(interface{ ReloadState(context.Context) }); ok && !isReply(err) {
			cluster.ReloadState(ctx) // or a master that is gone is asked for another minute
		}
		return Reply{}, err
	}
	if text, ok := answer.(string); ok {
		return Reply{Text: text}, nil
	}
	values, err := cmd.Slice()
	if err != nil {
		return Reply{}, err
	}
	reply := Reply{Numbers: make([]int64, 0, len(values))}
	for _, v := range values {
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

func (g goRedis) fcall(ctx context.Context, l *Library, keys, args []string) *redis.Cmd {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, "fcall", l.Function, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	for _, arg := range args {
		words = append(words, arg)
	}
	cmd := redis.NewCmd(ctx, words...)
	cmd.SetFirstKeyPos(3)
	if l.Once {
		_ = g.client.Process(ctx, onceCmd{cmd})
	} else {
		_ = g.client.Process(ctx, cmd)
	}
	return cmd
}

// onceCmd is a command that is not sent again when its answer is lost.
type onceCmd struct{ *redis.Cmd }

func (onceCmd) NoRetry() bool { return true }

// load loads a library wherever there may be states and a server answers.
func (g goRedis) load(ctx context.Context, l *Library) error {
	var mu sync.Mutex
	var errs []error
	loaded := false
	on := func(ctx context.Context, c *redis.Client) error {
		err := c.FunctionLoad(ctx, l.Source).Err()
		mu.Lock()
		defer mu.Unlock()
		if err == nil || Exists(err) {
			loaded = true
		} else {
			errs = append(errs, err)
		}
		return nil
	}
	var err error
	switch c := g.client.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, on)
	case *redis.Ring:
		err = c.ForEachShard(ctx, on)
	default:
		if err = g.client.FunctionLoad(ctx, l.Source).Err(); Exists(err) {
			err = nil
		}
		return err
	}
	if err == nil && !loaded {
		err = errors.Join(errs...)
	}
	return err
}
