package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"
)

// A store is a redis-server of our own, on a free port of loopback.
type store struct {
	addr, path, dir string
	cmd             *exec.Cmd
}

func newStore() (*store, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("redis-server is not installed: apt-get install redis-server")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	dir, err := os.MkdirTemp("", "weir-fleet-")
	if err != nil {
		return nil, err
	}
	return &store{addr: listener.Addr().String(), path: path, dir: dir}, nil
}

// start starts it, and returns once it answers. It writes what it is told to a file before it
// answers: what it has acknowledged is there again when it was killed, and the limit holds.
func (s *store) start(ctx context.Context) error {
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	s.cmd = exec.Command(s.path, "--bind", "127.0.0.1", "--port", port, "--dir", s.dir, "--save", "", "--appendonly", "yes")
	if err := s.cmd.Start(); err != nil {
		return err
	}
	client := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1})
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		err := client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// kill ends it at once, as a crash does.
func (s *store) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// remove ends it, and removes what it has written.
func (s *store) remove() {
	s.kill()
	_ = os.RemoveAll(s.dir)
}
