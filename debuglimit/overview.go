package debuglimit

import (
	"encoding/json"
	"net/http"

	"github.com/goweir/weir"
)

// An overview is all limiters of a page, as JSON.
type overview struct {
	Limiters []limiter `json:"limiters"`
}

// A limiter is what does not change from second to second, and its counters.
type limiter struct {
	Name        string   `json:"name"`
	Policy      string   `json:"policy"`
	Description string   `json:"description"`
	Layers      []string `json:"layers,omitempty"`
	PerClient   bool     `json:"per_client"`
	Searchable  bool     `json:"searchable"`
	*counters
}

// counters are a limiter's weir.Stats.
type counters struct {
	Allowed       uint64  `json:"allowed"`
	Denied        uint64  `json:"denied"`
	RejectionRate float64 `json:"rejection_rate"` // percent
	Shadowed      uint64  `json:"shadowed"`
	Waiting       int     `json:"waiting"`
	Clients       int     `json:"clients"`
	Evicted       uint64  `json:"evicted"`
	Overflowed    uint64  `json:"overflowed"`
	Local         uint64  `json:"local"`
	Fallback      uint64  `json:"fallback"`
}

// denied is how often a client was denied: at most Count times, and at least
// Count - Error.
type denied struct {
	Key   string `json:"key"`
	Count uint64 `json:"count"`
	Error uint64 `json:"error"`
}

func countersOf(s weir.Stats) *counters {
	return &counters{
		s.Allowed, s.Denied, s.RejectionRate(), s.Shadowed, s.Waiting, s.Clients,
		s.Evicted, s.Overflowed, s.Local, s.Fallback,
	}
}

// about returns what there is to say of a limiter but its counters.
func (c *contents) about(e entry) limiter {
	policy := e.policy()
	return limiter{
		Name: e.name, Policy: policy.String(), Description: policy.Describe(), Layers: c.layersOf(e),
		PerClient: !e.alone, Searchable: e.find != nil && !e.alone,
	}
}

func (c *contents) overview() overview {
	all := overview{Limiters: make([]limiter, len(c.entries))}
	for i, e := range c.entries {
		all.Limiters[i] = c.about(e)
		all.Limiters[i].counters = countersOf(e.stats())
	}
	return all
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

func writeError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"error": text})
}
