package redistest

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// slots is how many there are in every cluster.
const slots = 16384

// A Cluster is of masters that share the slots evenly, in order.
type Cluster struct {
	Masters []*Server
	t       testing.TB
	buses   []string // the ports on which they talk to each other
	moved   map[int]int
}

// StartCluster starts so many masters, and returns once all of them know so.
func StartCluster(t testing.TB, masters int) *Cluster {
	t.Helper()
	c := &Cluster{t: t, moved: make(map[int]int)}
	for i := range masters {
		s := c.start()
		c.Masters = append(c.Masters, s)
		ctx, client := context.Background(), s.Client()
		require.NoError(t, client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		require.NoError(t, client.ClusterAddSlotsRange(ctx, slots*i/masters, slots*(i+1)/masters-1).Err())
		if i > 0 {
			c.meet(client, 0)
		}
	}
	for _, s := range c.Masters {
		client := s.Client()
		require.NoError(t, within(30*time.Second, func() error {
			return clusterSays(client, "cluster_state:ok", fmt.Sprintf("cluster_size:%d", masters))
		}))
	}
	return c
}

func (c *Cluster) start() *Server {
	_, bus, err := net.SplitHostPort(freeAddr(c.t))
	require.NoError(c.t, err)
	c.buses = append(c.buses, bus)
	return Start(c.t, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0")
}

func (c *Cluster) meet(client *redis.Client, master int) {
	host, port, err := net.SplitHostPort(c.Masters[master].Addr)
	require.NoError(c.t, err)
	require.NoError(c.t, client.Do(context.Background(), "CLUSTER", "MEET", host, port, c.buses[master]).Err())
}

// Addrs returns the masters' addresses.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, s := range c.Masters {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// MasterOf returns which of the masters has a key's slot, and that slot.
func (c *Cluster) MasterOf(key string) (master, slot int) {
	c.t.Helper()
	at, err := c.Masters[0].Client().ClusterKeySlot(context.Background(), key).Result()
	require.NoError(c.t, err)
	if master, ok := c.moved[int(at)]; ok {
		return master, int(at)
	}
	for master = range c.Masters {
		if int(at) < slots*(master+1)/len(c.Masters) {
			break
		}
	}
	return master, int(at)
}

// Replica starts a replica of a master, and returns once it has what that has.
func (c *Cluster) Replica(master int) *Server {
	c.t.Helper()
	ctx, of := context.Background(), c.Masters[master].Client()
	id, err := of.ClusterMyID(ctx).Result()
	require.NoError(c.t, err)
	s := c.start()
	client := s.Client()
	c.meet(client, master)
	require.NoError(c.t, within(20*time.Second, func() error { return client.ClusterReplicate(ctx, id).Err() }))
	require.NoError(c.t, within(20*time.Second, func() error { return infoSays(client, "replication", "master_link_status:up") }))
	for _, node := range append([]*Server{s}, c.Masters...) { // who does not know it does not believe it
		client := node.Client()
		require.NoError(c.t, within(20*time.Second, func() error {
			return clusterSays(client, "cluster_state:ok", "cluster_known_nodes:"+strconv.Itoa(len(c.buses)))
		}))
	}
	return s
}

func clusterSays(client *redis.Client, lines ...string) error {
	info, err := client.ClusterInfo(context.Background()).Result()
	for _, line := range lines {
		if err == nil && !strings.Contains(info, line) {
			err = fmt.Errorf("no %s in %s", line, info)
		}
	}
	return err
}

// Move moves a key's slot, with what is in it, to another master, and calls halfway
// when all is there and the slot is not.
func (c *Cluster) Move(key string, to int, halfway func()) {
	c.t.Helper()
	ctx := context.Background()
	from, slot := c.MasterOf(key)
	source, target := c.Masters[from].Client(), c.Masters[to].Client()
	sourceID, err := source.ClusterMyID(ctx).Result()
	require.NoError(c.t, err)
	targetID, err := target.ClusterMyID(ctx).Result()
	require.NoError(c.t, err)
	require.NoError(c.t, target.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", sourceID).Err())
	require.NoError(c.t, source.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetID).Err())
	host, port, err := net.SplitHostPort(c.Masters[to].Addr)
	require.NoError(c.t, err)
	keys, err := source.ClusterGetKeysInSlot(ctx, slot, 1000).Result()
	require.NoError(c.t, err)
	for _, k := range keys {
		require.NoError(c.t, source.Do(ctx, "MIGRATE", host, port, k, 0, 5000).Err())
	}
	halfway()
	for _, client := range []*redis.Client{target, source} {
		require.NoError(c.t, client.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", targetID).Err())
	}
	c.moved[slot] = to
}
