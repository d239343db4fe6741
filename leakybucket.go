package weir

// LeakyBucket returns the policy of evenly spaced departures: one each
// l.Period() / l.Count(), and no burst. Allow admits one whenever the interval
// since the last one has passed and never queues. queue is how many may stand in
// line of those that would rather wait. l.Burst() plays no part, unless it is 0,
// which denies everything.
//
// It is the leaky bucket as a queue (Tanenbaum, Computer Networks), not the one
// as a meter, which is a TokenBucket. For Allow it is a token bucket of capacity
// 1:
//
//	admitted at t  =>  none in (t, t + interval)
func LeakyBucket(l Limit, queue int) Policy {
	return newLeaf(AlgorithmLeakyBucket, l, queue)
}
