package debuglimit

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// A Page is the handler. The zero Page has no limiters; it must not be copied. It is safe
// for concurrent use.
type Page struct {
	// Allow says who may look. With nil that is who is on the machine itself: the peer
	// and the host that it asked for are loopback addresses, or localhost, and nothing
	// shows that a proxy is in between. A proxy on the machine that names in no header whom
	// it asks for, and asks for a loopback address, cannot be told from a browser there:
	// set Allow behind one, or do not let it have this path.
	Allow func(*http.Request) bool

	mu       sync.Mutex // of who changes contents
	contents atomic.Pointer[contents]
	readers  atomic.Int64 // of the stream
	frames   frames
	ended    latch
}

// contents are what is on a page. They do not change: others take their place.
type contents struct {
	entries []entry
	groups  []group
}

// An entry is a limiter on the page.
type entry struct {
	name string
	Source
}

// A group is several limiters that are asked together.
type group struct {
	name     string
	limiters []any
}

// Add puts a limiter on the page. It panics if the name is empty, taken or not UTF-8.
func (p *Page) Add(name string, s Source) {
	if s.stats == nil {
		panic("debuglimit: Add of the zero Source: make one with Limiter, PerClient or Store")
	}
	p.change(func(c *contents) {
		if _, taken := c.entry(name); taken || name == "" || !utf8.ValidString(name) {
			panic(fmt.Sprintf("debuglimit: Add(%q): the name must be UTF-8, and one that no other limiter on the page has", name))
		}
		c.entries = append(c.entries, entry{name, s})
	})
}

// Remove takes a limiter off the page, and reports whether it was there.
func (p *Page) Remove(name string) (removed bool) {
	p.change(func(c *contents) {
		before := len(c.entries)
		c.entries = slices.DeleteFunc(c.entries, func(e entry) bool { return e.name == name })
		removed = len(c.entries) < before
	})
	return removed
}

// AddLayers tells the page that some of its limiters are asked together, as those of
// *weir.Layers are. It panics if the name is empty or not UTF-8, or layers is nil.
func (p *Page) AddLayers(name string, layers interface{ Limiters() []any }) {
	switch {
	case name == "" || !utf8.ValidString(name):
		panic(fmt.Sprintf("debuglimit: AddLayers(%q): the name must be UTF-8", name))
	case layers == nil:
		panic(fmt.Sprintf("debuglimit: AddLayers(%q): nil layers", name))
	}
	p.change(func(c *contents) { c.groups = append(c.groups, group{name, layers.Limiters()}) })
}

// Close ends the streams of all open pages, and there are none after it: http.Server's
// Shutdown would wait for them. Call it by RegisterOnShutdown(page.Close).
func (p *Page) Close() { p.ended.close() }

// change has f change a copy of what is on the page.
func (p *Page) change(f func(*contents)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	next := &contents{slices.Clone(now.entries), slices.Clone(now.groups)}
	f(next)
	p.contents.Store(next)
}

func (p *Page) now() *contents {
	if c := p.contents.Load(); c != nil {
		return c
	}
	return new(contents)
}

// entry returns the limiter with a name.
func (c *contents) entry(name string) (entry, bool) {
	for _, e := range c.entries {
		if e.name == name {
			return e, true
		}
	}
	return entry{}, false
}

// layersOf returns the names of the layers that a limiter is one of.
func (c *contents) layersOf(e entry) []string {
	if !reflect.ValueOf(e.limiter).Comparable() { // a Reader may be of any type
		return nil
	}
	var names []string
	for _, g := range c.groups {
		if slices.Contains(g.limiters, e.limiter) {
			names = append(names, g.name)
		}
	}
	return names
}

// ServeHTTP serves the page, at whatever path, and as ?format=json and ?format=events what
// it is made of.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	allow := p.Allow
	if allow == nil {
		allow = fromHere
	}
	setHeader(w.Header())
	switch {
	case !allow(r):
		http.Error(w, "This page is for the machine that it runs on. Come through a tunnel (ssh -L), or set Page.Allow.",
			http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this page is only to be read", http.StatusMethodNotAllowed)
	default:
		p.serve(w, r)
	}
}

func (p *Page) serve(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch format := query.Get("format"); {
	case format == "":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(html)
	case format == "events":
		p.stream(w, r)
	case format == "json" && query.Has("limiter"):
		p.serveOne(w, r, query)
	case format == "json":
		writeJSON(w, http.StatusOK, p.now().overview())
	default:
		writeError(w, http.StatusBadRequest, fmt.Sprintf("format=%q: it is json, events, or left out for the page", format))
	}
}
