// Package spacesaving finds the most frequent of any number of keys in fixed memory,
// by the Space-Saving algorithm of Metwally, Agrawal and El Abbadi ("Efficient
// Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005).
package spacesaving

import (
	"cmp"
	"slices"
)

// A Count is how often a key came: at most Count times, and at least Count - Error.
type Count[K comparable] struct {
	Key          K
	Count, Error uint64
}

// A summary counts keys in at most size counters. With n keys counted, least the
// lowest count of a full one and 0 otherwise, and f how often a key came:
//
//	the sum of all counts is n, so least <= n / size
//	a key with a counter:     Count - Error <= f <= Count, and Error <= least
//	a key without a counter:  f <= least
//
// It is a heap by count, in which the lowest is on top.
type summary[K comparable] struct {
	size   int
	heap   []Count[K]
	places map[K]int // in the heap
}

// add counts a key once. One that is new takes over the lowest counter when all are in
// use: it may have come as often before.
func (s *summary[K]) add(key K) {
	if key != key { // such as a NaN: the map would never find it again
		return
	}
	place, found := s.places[key]
	switch {
	case found:
	case len(s.heap) < s.size:
		if s.places == nil {
			s.places = make(map[K]int)
		}
		place = len(s.heap)
		s.heap, s.places[key] = append(s.heap, Count[K]{key, 1, 0}), place
		s.up(place)
		return
	default: // place is 0, the lowest's
		lowest := &s.heap[place]
		delete(s.places, lowest.Key)
		lowest.Key, lowest.Error, s.places[key] = key, lowest.Count, place
	}
	s.heap[place].Count++
	s.down(place)
}

// least is what a key without a counter may have come at most.
func (s *summary[K]) least() uint64 {
	if len(s.heap) < s.size {
		return 0
	}
	return s.heap[0].Count
}

// up moves a counter up past greater ones. (The top's parent is itself.)
func (s *summary[K]) up(i int) {
	for parent := (i - 1) / 2; s.heap[parent].Count > s.heap[i].Count; i, parent = parent, (parent-1)/2 {
		s.swap(i, parent)
	}
}

// down moves a counter down past lower ones.
func (s *summary[K]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			return
		}
		if right := child + 1; right < len(s.heap) && s.heap[right].Count < s.heap[child].Count {
			child = right
		}
		if s.heap[i].Count <= s.heap[child].Count {
			return
		}
		s.swap(i, child)
		i = child
	}
}

func (s *summary[K]) swap(i, j int) {
	s.heap[i], s.heap[j] = s.heap[j], s.heap[i]
	s.places[s.heap[i].Key], s.places[s.heap[j].Key] = i, j
}

// merged returns the size greatest counts of several summaries, by count. What a key
// without a counter in one of them may have come there is added, as an error, so that
// the bounds of a summary of them all hold (Agarwal et al., "Mergeable Summaries", 2012).
func merged[K comparable](size int, summaries [][]Count[K], least []uint64) []Count[K] {
	var missing uint64 // where a key has no counter at all
	for _, n := range least {
		missing += n
	}
	all := make(map[K]Count[K])
	for i, counts := range summaries {
		for _, c := range counts {
			sum, found := all[c.Key]
			if !found {
				sum = Count[K]{c.Key, missing, missing}
			}
			sum.Count += c.Count - least[i]
			sum.Error += c.Error - least[i]
			all[c.Key] = sum
		}
	}
	top := make([]Count[K], 0, len(all))
	for _, c := range all {
		top = append(top, c)
	}
	slices.SortFunc(top, func(a, b Count[K]) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Error, b.Error))
	})
	return top[:min(size, len(top))]
}
