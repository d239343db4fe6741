package main

import (
	"time"

	"github.com/goweir/weir"
)

// refill is the time in which every client of every scenario is full again.
const refill = time.Second

// populous are limits for many keys, each asked now and then: of every
// algorithm and combination, and narrow enough to be reached.
func populous() []weir.Policy {
	return []weir.Policy{
		weir.TokenBucket(weir.PerSecond(100).WithBurst(8)).Named("token-bucket"),
		weir.LeakyBucket(weir.PerSecond(200), 0).Named("leaky-bucket"),
		weir.FixedWindow(weir.Per(10, 50*time.Millisecond)).Named("fixed-window"),
		weir.SlidingWindow(weir.Per(10, 70*time.Millisecond)).Named("sliding-window"),
		weir.SlidingCounter(weir.Per(10, 60*time.Millisecond)).Named("sliding-counter"),
		weir.All(
			weir.TokenBucket(weir.PerSecond(200).WithBurst(6)),
			weir.SlidingWindow(weir.Per(20, 250*time.Millisecond)),
		).Named("all"),
		weir.FirstOf(
			weir.TokenBucket(weir.PerSecond(50).WithBurst(4)),
			weir.FixedWindow(weir.Per(5, 100*time.Millisecond)),
		).Named("first-of"),
		weir.BurstReserve(weir.PerSecond(100).WithBurst(5), weir.PerSecond(10).WithBurst(5)).Named("burst-reserve"),
	}
}

// contested are limits for a few keys that all workers ask for at once: high
// enough for many admissions to race, and low enough to be used up. The bursts of
// buckets are what flows in while nobody asks for longer than ever happens.
func contested() []weir.Policy {
	const ms = time.Millisecond
	return []weir.Policy{
		weir.TokenBucket(weir.PerSecond(20_000).WithBurst(2000)).Named("token-bucket"),
		weir.LeakyBucket(weir.PerSecond(200_000), 0).Named("leaky-bucket"),
		weir.FixedWindow(weir.Per(200, ms)).Named("fixed-window"),
		weir.SlidingWindow(weir.Per(200, ms)).Named("sliding-window"),
		weir.SlidingCounter(weir.Per(200, ms)).Named("sliding-counter"),
		weir.All(
			weir.TokenBucket(weir.PerSecond(20_000).WithBurst(2000)),
			weir.SlidingWindow(weir.Per(100, 2*ms)),
		).Named("all"),
		weir.FirstOf(
			weir.TokenBucket(weir.PerSecond(20_000).WithBurst(2000)),
			weir.FixedWindow(weir.Per(20, ms)),
		).Named("first-of"),
		weir.BurstReserve(weir.PerSecond(10_000).WithBurst(1000), weir.PerSecond(5000).WithBurst(500)).Named("burst-reserve"),
	}
}

// crowding are limits for crowds: contested, and full soon after a newcomer has
// gone.
func crowding() []weir.Policy {
	bucket := weir.TokenBucket(weir.PerSecond(5000).WithBurst(500))
	return []weir.Policy{
		bucket.Named("token-bucket"),
		weir.SlidingWindow(weir.Per(300, 50*time.Millisecond)).Named("sliding-window"),
		weir.All(bucket, weir.FixedWindow(weir.Per(200, 20*time.Millisecond))).Named("all"),
	}
}
