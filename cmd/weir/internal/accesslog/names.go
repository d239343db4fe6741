package accesslog

import (
	"errors"
	"fmt"
	"strings"
)

// Names say what the parts of a line are called in JSON and CSV, where that is
// none of what they are usually called.
type Names map[string]string

// ParseNames reads "time=ts,address=client.ip".
func ParseNames(text string) (Names, error) {
	names := Names{}
	if text == "" {
		return names, nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		part, name, ok := strings.Cut(pair, "=")
		part, name = strings.TrimSpace(part), strings.TrimSpace(name)
		if _, known := usualNames[part]; !ok || !known || name == "" {
			return nil, fmt.Errorf("names %q: it is a list as time=ts,address=client.ip of what time, address, user and path are called", text)
		}
		names[part] = name
	}
	return names, nil
}

// usualNames are in lower case; the first that a line has is taken. A dot stands
// for an object in an object.
var usualNames = map[string][]string{
	"time": {"time", "timestamp", "@timestamp", "ts", "time_iso8601", "time_local", "datetime", "date", "msec"},
	"address": {"remote_addr", "client_ip", "remote_ip", "clientip", "ip", "address", "client", "remote",
		"request.client_ip", "request.remote_ip"},
	"user": {"user", "remote_user", "user_id", "userid", "username"},
	"path": {"path", "uri", "request_uri", "url", "request.uri"},
}

// A wanted is a value that a parser is made for: the first that a line has of
// some names.
type wanted struct {
	slot int // 0 for the time, 1 + i for the field i
	rank int // the lower is taken
}

// A catalog says which values are wanted, by their names in lower case.
type catalog map[string][]wanted

func newCatalog(fields []Field, names Names) catalog {
	c := catalog{}
	c.add(0, named("time", names))
	for i, f := range fields {
		c.add(1+i, f.names(names))
	}
	return c
}

func (c catalog) add(slot int, names []string) {
	for rank, name := range names {
		name = strings.ToLower(name)
		c[name] = append(c[name], wanted{slot, rank})
	}
}

func named(part string, names Names) []string {
	if name, ok := names[part]; ok {
		return []string{name}
	}
	return usualNames[part]
}

// names returns what a field may be called, the likeliest first.
func (f Field) names(names Names) []string {
	switch f.kind {
	case fieldAddress, fieldUser, fieldPath:
		return named(f.String(), names)
	case fieldHeader:
		return []string{f.name, "http_" + strings.ReplaceAll(f.name, "-", "_"), strings.ReplaceAll(f.name, "-", "_"),
			"headers." + f.name, "request.headers." + f.name}
	}
	return []string{f.name}
}

// errUnnamed says that a line has no value for the time.
var errUnnamed = errors.New("no time: say with -names how it is called, as in -names time=ts")

// A gathering is the values of one line that were found so far.
type gathering struct {
	values [][]byte // by slot
	ranks  []int
}

func newGathering(fields int) gathering {
	return gathering{make([][]byte, 1+fields), make([]int, 1+fields)}
}

func (g *gathering) clear() {
	clear(g.values)
	for i := range g.ranks {
		g.ranks[i] = len(usualNames["address"])
	}
}

func (g *gathering) put(w wanted, value []byte) {
	if value != nil && (g.values[w.slot] == nil || w.rank < g.ranks[w.slot]) {
		g.values[w.slot], g.ranks[w.slot] = value, w.rank
	}
}

// finish returns the time, and fills values as a parser does.
func (g *gathering) finish(fields []Field, values [][]byte) (ns int64, err error) {
	if g.values[0] == nil {
		return 0, errUnnamed
	}
	ns, ok := parseTime(g.values[0])
	if !ok {
		return 0, errTime
	}
	for i, f := range fields {
		v := unlessDash(g.values[1+i])
		if f.kind == fieldPath {
			v = targetPath(v)
		}
		if len(v) == 0 {
			v = nil
		}
		values[i] = v
	}
	return ns, nil
}
