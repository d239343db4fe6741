package redislimit_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// TestREADME_BlocksAreCompiledCode: lines of an example, as they are.
func TestREADME_BlocksAreCompiledCode(t *testing.T) {
	examples := regexp.MustCompile(`(?m)^\t`).ReplaceAllString(read(t, "example_test.go"), "")
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(read(t, "README.md"), -1)
	require.Len(t, blocks, 5)
	for _, block := range blocks {
		require.True(t, strings.Contains(examples, "\n"+block[1]), "no example has these lines:\n%s", block[1])
	}
}

// TestREADME_SpeedsAreThoseOfTheBenchmarks: of the same contender, in the same case.
func TestREADME_SpeedsAreThoseOfTheBenchmarks(t *testing.T) {
	_, table, found := strings.Cut(read(t, "README.md"), "|---|---:|---:|---:|---:|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	benchmarks := read(t, "BENCHMARKS.md")
	rows := 0
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(row, "| \n"), " | ")
		require.Len(t, cells, 5, row)
		for i, section := range []string{"One key, allowed", "One key, denied", "Many keys, allowed", "Many keys, denied"} {
			_, of, found := strings.Cut(benchmarks, "\n## "+section+"\n")
			require.True(t, found, section)
			of, _, _ = strings.Cut(of, "\n## ")
			measured := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(cells[0]) + ` \| (\d+) \|`).FindStringSubmatch(of)
			if cells[i+1] == "-" {
				require.Empty(t, measured, "%s: %s", section, row)
				continue
			}
			require.NotEmpty(t, measured, "%s: %s", section, row)
			require.Equal(t, measured[1], strings.ReplaceAll(cells[i+1], ",", ""), "%s: %s", section, row)
		}
		rows++
	}
	require.Equal(t, 7, rows)
}

// TestREADME_PermissionsAreEnough: for all that a PerClient does, with every kind of policy.
func TestREADME_PermissionsAreEnough(t *testing.T) {
	ctx, server := context.Background(), redistest.Start(t)
	line := regexp.MustCompile(`(?m)^ACL SETUSER weir .*$`).FindString(read(t, "README.md"))
	var command []any
	for word := range strings.FieldsSeq(line + " +hello") {
		command = append(command, word)
	}
	require.NoError(t, server.Client().Do(ctx, command...).Err())
	client := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "weir", Password: "secret", ContextTimeoutEnabled: true})
	defer client.Close()

	hour := weir.PerHour(5)
	policies := []weir.Policy{
		weir.TokenBucket(hour), weir.FixedWindow(hour), weir.SlidingCounter(hour), weir.SlidingWindow(hour),
		weir.All(weir.SlidingWindow(hour), weir.SlidingWindow(weir.PerDay(9)), weir.TokenBucket(hour)),
	}
	c := redislimit.New(client, policies[0], redislimit.WithTimeout(10*time.Second))
	for _, p := range append(policies, policies...) { // each comes after another
		require.NoError(t, c.SetPolicy(p))
		for range 4 {
			_, err := c.Take(ctx, "a", 1)
			require.NoError(t, err, p)
		}
		require.NoError(t, c.Refund(ctx, "a", 3))
	}
	require.NoError(t, c.Reset(ctx, "a"))
	require.NoError(t, c.SetPolicy(policies[0]))
	var work sync.WaitGroup
	for i := range 64 { // more than go alone
		work.Go(func() {
			for range 20 {
				_, err := c.Take(ctx, fmt.Sprint(i), 1)
				require.NoError(t, err)
			}
		})
	}
	work.Wait()
	require.Regexp(t, `cmdstat_mget:calls=[1-9].*,rejected_calls=0,failed_calls=0`, server.Client().Info(ctx, "commandstats").Val())
	require.Error(t, client.Get(ctx, "other:a").Err())
}
