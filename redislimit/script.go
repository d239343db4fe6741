package redislimit

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
)

//go:embed script.lua
var decideSource string

// registrySource keeps, in a key, the text of a policy.
const registrySource = `
if ARGV[1] then redis.call('SET', KEYS[1], ARGV[1]) return { 1 } end
return { 2, redis.call('GET', KEYS[1]) or '' }`

// resetSource forgets a client. Only its state has to go: logs mean nothing without
// one.
const resetSource = `redis.call('DEL', KEYS[1]) return { 1 }`

var (
	decideScript   = newScript(decideSource)
	registryScript = newScript(registrySource)
	resetScript    = newScript(resetSource)
)

// A Script is what a Store runs.
type Script struct {
	// Source is written in Lua 5.1.
	Source string
	// SHA1 is what EVALSHA calls it, in hexadecimal.
	SHA1 string
}

func newScript(source string) *Script {
	sum := sha1.Sum([]byte(source))
	return &Script{source, hex.EncodeToString(sum[:])}
}

// A Store runs scripts where the states are: what a client library of Redis has to
// do for NewWith. It must be safe for concurrent use.
type Store interface {
	// Run runs a script, with EVALSHA, and with EVAL where the server does not know it.
	// All keys are in one slot of a cluster. It returns once ctx is done, if not earlier.
	Run(ctx context.Context, s *Script, keys, args []string) (Reply, error)
}

// A Reply is the array that a script returns: integers, and at its end a string,
// or none.
type Reply struct {
	Numbers []int64
	Text    string
}
