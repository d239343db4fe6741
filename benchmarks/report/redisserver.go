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

// startRedis starts a redis-server on a free port of loopback, which keeps nothing on
// disk.
func startRedis() (addr string, stop func(), err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil, fmt.Errorf("%w: apt-get install redis-server", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = listener.Addr().String()
	_ = listener.Close()
	_, port, _ := net.SplitHostPort(addr)
	server := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", os.TempDir())
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
	if _, err := redisVersion(addr); err != nil {
		stop()
		return "", nil, err
	}
	return addr, stop, nil
}

// redisVersion asks until there is an answer.
func redisVersion(addr string) (string, error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var info map[string]map[string]string
		if info, err = client.InfoMap(context.Background(), "server").Result(); err == nil {
			return info["Server"]["redis_version"], nil
		}
	}
	return "", errors.Join(errors.New("redis-server does not answer"), err)
}
