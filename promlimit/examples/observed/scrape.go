package main

import (
	"bufio"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// metrics are weir's, as Prometheus reads them: the number under what is before it in its line.
type metrics map[string]float64

func scrape(url string) (metrics, error) {
	response, err := http.Get(url + "/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("a scrape was answered with %s", response.Status)
	}
	m := metrics{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "weir_") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if m[line[:at]], err = strconv.ParseFloat(line[at+1:], 64); err != nil {
			return nil, err
		}
	}
	return m, lines.Err()
}

func decisions(limiter, decision string) string {
	return fmt.Sprintf("weir_decisions_total{decision=%q,limiter=%q}", decision, limiter)
}

// decisions returns how many requests were decided so. What is allowed is in both limiters, and what is
// denied in the one that did.
func (m metrics) decisions(decision string) float64 {
	if decision == "allowed" {
		return m[decisions("everybody", decision)]
	}
	return m[decisions("everybody", decision)] + m[decisions("keys", decision)]
}

func (m metrics) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&text, "%s %v\n", name, m[name])
	}
	return text.String()
}
