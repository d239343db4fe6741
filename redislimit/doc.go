// Package redislimit limits a fleet: it decides in Redis or Valkey what
// weir.PerClient decides in memory, under the same Policy and with the same
// Decision, so that a limit holds for all processes together.
//
//	clients := redislimit.New(redisClient, weir.TokenBucket(weir.PerSecond(10).WithBurst(20)))
//	d, err := clients.Take(ctx, user, 1)
//
// A decision is one call of a function, and one round trip, whatever the policy. Token buckets
// that are asked for while four calls are under way wait until one of these is over, or for half
// a millisecond, and are then decided in one call, each as if it were alone. The instant
// that counts is the server's, in whole microseconds: no clock of a client takes
// part. Where a limit's interval or period is whole microseconds, exactly what
// memory admits at the same instants is admitted, and the Decision is the same;
// elsewhere never more, with a RetryAfter that is at most 1 µs later.
//
// What is admitted in a fleet of k processes, in any span of d:
//
//	MaxWithin(d)                         as it is
//	MaxWithin(d) + k * n                 with WithLease(n, ...)
//	MaxWithin(d) + k * Local's           while the store does not answer, with WithFallback(Local(share))
//	no bound                             while the store does not answer, with WithFallback(FailOpen)
//
// if the server's clock does not step back further than a key's state is kept,
// and what it has acknowledged is not lost: a replica that takes over may lack the
// last moments, as Redis replicates asynchronously. An answer that is lost on its way
// may have consumed what it granted; a client library that then asks again, as go-redis
// does up to MaxRetries times, consumes it again. Never is anything given back twice.
//
// A state is a key of Redis, of its own for each sliding window but the first. It
// expires when it is full again, never earlier: one of token buckets at the end of
// that second. A denial writes nothing, unless the key's policy has changed: then that
// it was denied is noted once.
package redislimit
