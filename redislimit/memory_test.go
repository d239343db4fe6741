package redislimit_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// bytesOf returns what all keys take that belong to a client.
func bytesOf(t *testing.T, client *redis.Client, name string) (bytes int64) {
	t.Helper()
	ctx := context.Background()
	keys, err := client.Keys(ctx, "*"+name+"*").Result()
	require.NoError(t, err)
	require.NotEmpty(t, keys)
	for _, key := range keys {
		usage, err := client.MemoryUsage(ctx, key).Result()
		require.NoError(t, err)
		bytes += usage
	}
	return bytes
}

// isValkey reports what kind of server it is: Valkey keeps a key and its value in one piece.
func isValkey(t *testing.T, client *redis.Client) bool {
	t.Helper()
	info, err := client.Info(context.Background(), "server").Result()
	require.NoError(t, err)
	return strings.Contains(info, "valkey_version")
}

// TestATokenBucketTakesNoMoreThanRedisRates: of clients whose names are of any length;
// in Valkey, where a byte can make the difference, of all these together.
func TestATokenBucketTakesNoMoreThanRedisRates(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	weirs := redislimit.New(client, weir.TokenBucket(weir.PerHour(1000)), redislimit.WithTimeout(10*time.Second))
	rates := redis_rate.NewLimiter(client)
	sum, most := int64(0), int64(0)
	for length := 1; length <= 64; length++ {
		name := strings.Repeat("z", length)
		require.NoError(t, client.FlushDB(ctx).Err())
		_, err := rates.Allow(ctx, name, redis_rate.PerHour(1000))
		require.NoError(t, err)
		theirs := bytesOf(t, client, name)
		require.NoError(t, client.FlushDB(ctx).Err())
		_, err = weirs.Take(ctx, name, 1)
		require.NoError(t, err)
		ours := bytesOf(t, client, name)
		if !isValkey(t, client) {
			require.LessOrEqual(t, ours, theirs, length)
		}
		sum, most = sum+ours, most+theirs
	}
	require.LessOrEqual(t, sum, most)
}

// TestREADME_MemoryIsWhatRedisSays: but for what another version or allocator takes for the same.
// Valkey takes less.
func TestREADME_MemoryIsWhatRedisSays(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\d+) \\| (\\d+) \\|$").FindAllStringSubmatch(read(t, "README.md"), -1)
	require.Len(t, rows, 8, "policies with two numbers")
	least := 0.85
	if isValkey(t, client) {
		least = 0
	}
	for _, row := range rows {
		for i, uses := range []int{1, 100} {
			require.NoError(t, client.FlushDB(ctx).Err())
			const name = "nobody@localhost"
			c := redislimit.New(client, weir.MustParsePolicy(row[1]), redislimit.WithTimeout(10*time.Second))
			for range uses {
				_, err := c.Take(ctx, name, 1)
				require.NoError(t, err)
			}
			said, err := strconv.ParseFloat(row[2+i], 64)
			require.NoError(t, err)
			share := float64(bytesOf(t, client, name)) / said
			require.LessOrEqual(t, share, 1.15, "%s, %d used", row[1], uses)
			require.GreaterOrEqual(t, share, least, "%s, %d used", row[1], uses)
		}
	}
}
