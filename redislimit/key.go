package redislimit

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Key joins parts to one key that no other parts make: Key("a:b", "c") is
// "a%3Ab:c", and Key("a", "b:c") "a:b%3Ac".
func Key(parts ...string) string {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteByte(':')
		}
		if part == "" {
			b.WriteByte('%') // no part is something else
		}
		_, _ = keyEscaper.WriteString(&b, part)
	}
	return b.String()
}

var keyEscaper = strings.NewReplacer("%", "%25", ":", "%3A")

// A namespace makes the names of keys in Redis: a prefix, then the client's key.
// In that there is no brace that closes, so that what comes behind one is ours:
//
//	prefix key         the state
//	{prefix key}2      its second log, in the same slot of a cluster
//	{prefix key}?      the note of a denial
//	prefix }id         the text of a policy
type namespace struct {
	prefix string
	tagged bool // all keys are in one slot, which the prefix names in braces
}

func newNamespace(prefix string) (namespace, error) {
	before, rest, opens := strings.Cut(prefix, "{")
	tag, after, shuts := strings.Cut(rest, "}")
	if strings.ContainsAny(before+tag+after, "{}") || opens != shuts || opens && tag == "" {
		return namespace{}, fmt.Errorf("redislimit: prefix %q: a brace in it that is not part of a hash tag, as in {tag}, or a second one", prefix)
	}
	return namespace{prefix, opens}, nil
}

// braces takes the braces that close out of a key, and stays unambiguous.
var braces = strings.NewReplacer("%7D", "%257D", "%25", "%2525", "}", "%7D")

func (ns namespace) state(key string) string {
	switch {
	case strings.ContainsAny(key, "%}"):
		key = braces.Replace(key)
	case ns.prefix == "" && key == "":
		key = "%25" // nobody else's, as a hash tag is not empty
	}
	return ns.prefix + key
}

// keys returns the keys of a state with so many logs.
func (ns namespace) keys(state string, logs int) []string {
	keys := make([]string, 1, max(1, logs)+1)
	keys[0] = state
	for number := 2; number <= logs; number++ {
		keys = append(keys, ns.beside(state, strconv.Itoa(number)))
	}
	return keys
}

// beside names a key in the same slot.
func (ns namespace) beside(state, suffix string) string {
	if ns.tagged {
		return state + "}" + suffix
	}
	return "{" + state + "}" + suffix
}

func (ns namespace) policy(id string) string {
	return ns.prefix + "}" + hex.EncodeToString([]byte(id))
}
