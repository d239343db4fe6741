// Package redistest starts redis-servers for tests, each on a free port of
// loopback, and in a folder that is removed with it.
package redistest

import (
	"context"
	"net"
	"os"
	"os/exec"
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
func (s *Server) Restart() {
	s.t.Helper()
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	out := new(strings.Builder)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	require.NoError(s.t, s.cmd.Start())
	client := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	defer client.Close()
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = client.Ping(context.Background()).Err(); err == nil {
			return
		}
	}
	s.Kill()
	require.NoError(s.t, err, out)
}

// Kill ends it at once, as SIGKILL does.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
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
