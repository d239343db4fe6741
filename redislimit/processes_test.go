package redislimit_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

// childEnv tells a process of this test binary what to do instead of the tests:
// library, policy and addresses.
const childEnv = "WEIR_TEST_CHILD"

const (
	processes  = 8
	goroutines = 8
)

// beAChild takes what is left of all keys once the other processes are there too,
// until each goroutine is denied, and writes how many that were of each.
func beAChild() {
	parts := strings.Split(os.Getenv(childEnv), ";")
	create, shut, err := libraries[parts[0]](strings.Split(parts[2], ",")...)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer shut()
	c := create(weir.MustParsePolicy(parts[1]), redislimit.WithTimeout(generous))
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until all are
	for _, key := range sharedKeys {
		var mu sync.Mutex
		var asking sync.WaitGroup
		admitted := 0
		for range goroutines {
			asking.Go(func() {
				for {
					ok, err := c.Allow(context.Background(), key)
					if err != nil {
						fmt.Println(err)
						os.Exit(1)
					}
					if !ok {
						return
					}
					mu.Lock()
					admitted++
					mu.Unlock()
				}
			})
		}
		asking.Wait()
		fmt.Println(admitted)
	}
}

// sharedKeys are in slots of all three masters.
var sharedKeys = []string{"a", "b", "c"}

// TestProcessesTogetherAdmitExactlyTheLimit of each key.
func TestProcessesTogetherAdmitExactlyTheLimit(t *testing.T) {
	t.Parallel()
	one := redistest.Start(t)
	three := redistest.StartCluster(t, 3)
	masters := map[int]bool{}
	for _, key := range sharedKeys {
		master, _ := three.MasterOf("weir:" + key)
		masters[master] = true
	}
	require.Len(t, masters, 3)
	for name, addrs := range map[string][]string{"one server": {one.Addr}, "a cluster": three.Addrs()} {
		for _, library := range []string{"go-redis", "rueidis"} {
			for _, p := range []weir.Policy{weir.SlidingWindow(weir.Per(1000, 24*time.Hour)), bucket(1000, 365*24*time.Hour)} {
				t.Run(fmt.Sprintf("%s/%s/%v", name, library, p), func(t *testing.T) {
					for _, addr := range addrs {
						require.NoError(t, clientOf(t, addr).FlushAll(context.Background()).Err())
					}
					total := ask(t, library, p, addrs)
					for i, key := range sharedKeys {
						require.Equal(t, 1000, total[i], key)
					}
				})
			}
		}
	}
}

// ask has processes take all there is, and returns how many they got of each key.
func ask(t *testing.T, library string, p weir.Policy, addrs []string) []int {
	type child struct {
		start io.WriteCloser
		out   io.ReadCloser
		cmd   *exec.Cmd
	}
	var children []child
	for range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+library+";"+p.String()+";"+strings.Join(addrs, ","))
		cmd.Stderr = os.Stderr
		start, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		children = append(children, child{start, out, cmd})
	}
	for _, c := range children {
		ready := make([]byte, len("ready\n"))
		_, err := io.ReadFull(c.out, ready)
		require.NoError(t, err)
		require.Equal(t, "ready\n", string(ready))
	}
	for _, c := range children {
		require.NoError(t, c.start.Close())
	}
	total := make([]int, len(sharedKeys))
	for i, c := range children {
		said, err := io.ReadAll(c.out)
		require.NoError(t, err)
		require.NoError(t, c.cmd.Wait(), string(said))
		lines := strings.Fields(string(said))
		require.Len(t, lines, len(total), string(said))
		t.Logf("process %d: %v", i, lines)
		for k, line := range lines {
			admitted, err := strconv.Atoi(line)
			require.NoError(t, err)
			total[k] += admitted
		}
	}
	return total
}
