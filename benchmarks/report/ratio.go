package main

import "math"

// A ratio is the median of the rounds' ratios: what disturbs a round disturbs
// both of its figures.

// serial returns the ratio of two contenders on one core.
func serial(s *Speed, a, b string) float64 {
	return compare(s.row(a), s.row(b), func(r *SpeedRow) []float64 { return r.Serial })
}

// parallel returns the ratio of two contenders on all cores.
func parallel(s *Speed, a, b string) float64 {
	return compare(s.row(a), s.row(b), func(r *SpeedRow) []float64 { return r.Parallel })
}

// speedUp returns how many times as many decisions all cores make as one.
func speedUp(s *Speed, by string) float64 {
	row := s.row(by)
	if row == nil {
		return math.NaN()
	}
	return ratio(row.Serial, row.Parallel)
}

func compare(a, b *SpeedRow, of func(*SpeedRow) []float64) float64 {
	if a == nil || b == nil {
		return math.NaN()
	}
	return ratio(of(a), of(b))
}

func ratio(a, b []float64) float64 {
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	if len(ratios) == 0 {
		return math.NaN()
	}
	return median(ratios)
}

// bestPeer returns the fastest that is not weir and no floor.
func (s *Speed) bestPeer() (best string) {
	if s == nil {
		return ""
	}
	least := math.Inf(1)
	for _, row := range s.Rows {
		if ns := median(row.Serial); !row.Floor && !isWeir(row.By) && ns < least {
			best, least = row.By, ns
		}
	}
	return best
}
