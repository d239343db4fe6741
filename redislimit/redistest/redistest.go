// Package redistest starts redis-servers for tests, each on a free port of
// loopback, and in a folder that is removed with it.
package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A Server is a redis-server of a test's own.
type Server struct {
	Addr string
	t    testing.TB
	args []string
	dir  string
	cmd  *exec.Cmd
	out  *strings.Builder // read once it has ended
}

// Start starts a redis-server that ends with the test, with arguments such as
// "--maxmemory", "5mb". Where redis-server is not installed the test is skipped,
// with WEIR_REDIS=1 it fails.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil && os.Getenv("WEIR_REDIS") == "" {
		t.Skip("redis-server is not installed: apt-get install redis-server")
	}
	require.NoError(t, err)
	s := &Server{Addr: freeAddr(t), t: t, dir: t.TempDir()}
	_, port, err := net.SplitHostPort(s.Addr)
	require.NoError(t, err)
	s.args = append([]string{path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", s.dir}, args...)
	s.Restart()
	t.Cleanup(s.Kill)
	return s
}

func freeAddr(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// Restart starts it anew after Kill, and returns once it answers.
func (s *Server) Restart(args ...string) {
	s.t.Helper()
	s.Launch(args...)
	client := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	defer client.Close()
	if err := within(20*time.Second, func() error { return client.Ping(context.Background()).Err() }); err != nil {
		s.Kill()
		require.NoError(s.t, err, s.out)
	}
}

// Launch starts it anew after Kill, with some arguments more, and does not wait
// until it answers.
func (s *Server) Launch(args ...string) {
	s.t.Helper()
	s.cmd = exec.Command(s.args[0], append(slices.Clone(s.args[1:]), args...)...)
	s.out = new(strings.Builder)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	require.NoError(s.t, s.cmd.Start())
}

// Replica starts a replica of s, and returns once it has what s has.
func (s *Server) Replica(args ...string) *Server {
	s.t.Helper()
	host, port, err := net.SplitHostPort(s.Addr)
	require.NoError(s.t, err)
	replica := Start(s.t, append([]string{"--replicaof", host + " " + port, "--repl-diskless-sync-delay", "0"}, args...)...)
	client := replica.Client()
	require.NoError(s.t, within(20*time.Second, func() error {
		return infoSays(client, "replication", "master_link_status:up")
	}))
	return replica
}

// within tries something until it succeeds, or for so long.
func within(d time.Duration, try func() error) error {
	deadline := time.Now().Add(d)
	for {
		err := try()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func infoSays(client *redis.Client, section, line string) error {
	info, err := client.Info(context.Background(), section).Result()
	if err == nil && !strings.Contains(info, line) {
		err = fmt.Errorf("no %s in %s", line, info)
	}
	return err
}

// Kill ends it at once, as SIGKILL does.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill() // a stopped one too
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Signal sends it a signal.
func (s *Server) Signal(sig os.Signal) {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(sig))
}

// Client returns a client of it that ends with the test.
func (s *Server) Client() *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true})
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}
