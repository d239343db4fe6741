package main

import "time"

// A scale is how much of everything is measured.
type scale struct {
	quick   bool
	rounds  int
	warmups int           // rounds that do not count
	pass    time.Duration // of one contender in one round
	million int           // clients of the cases that are named for a million
	tens    int           // and for ten million
	growing int           // new clients of an insertion, requests of a flood
	memory  []int         // clients at which memory is looked at
	swept   int           // stale clients in a sweep
	live    int           // others that are asked for meanwhile
	doubled int           // clients before a doubling
	quiet   time.Duration // of observation with nothing else going on
	admit   time.Duration // of asking to see what is admitted
	askers  int           // goroutines that ask
	retries int           // times that is tried
	rate    int           // per second, and the burst
}

func fullScale() scale {
	return scale{
		rounds:  9,
		warmups: 1,
		pass:    150 * time.Millisecond,
		million: 1_000_000,
		tens:    10_000_000,
		growing: 1_000_000,
		memory:  []int{1_000_000, 3_000_000, 10_000_000},
		swept:   5_000_000,
		live:    1_000_000,
		doubled: 2_000_000,
		quiet:   time.Second,
		admit:   time.Second,
		askers:  200,
		retries: 3,
		rate:    100_000,
	}
}

func quickScale() scale {
	return scale{
		quick:   true,
		rounds:  1,
		pass:    2 * time.Millisecond,
		million: 2_000,
		tens:    20_000,
		growing: 5_000,
		memory:  []int{1_000, 3_000, 10_000},
		swept:   5_000,
		live:    1_000,
		doubled: 5_000,
		quiet:   5 * time.Millisecond,
		admit:   20 * time.Millisecond,
		askers:  20,
		retries: 1,
		rate:    1_000,
	}
}
