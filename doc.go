// Package weir is a rate limiter to embed: a program builds a policy and asks
// Allow(key) in its handlers.
//
//	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(10).WithBurst(20)))
//	...
//	if !clients.Allow(user) {
//		http.Error(w, "slow down", http.StatusTooManyRequests)
//		return
//	}
//
// # Limits and policies
//
// A [Limit] says how many, per how long, and how many at once. A [Policy] is an
// algorithm with a limit: [TokenBucket], [LeakyBucket], [FixedWindow],
// [SlidingWindow], [SlidingCounter]; or several policies that decide as one:
// [All] of them must admit, or the [FirstOf] them that admits pays, as in
// [BurstReserve]. Both are immutable values, and are read from text by
// [ParseLimit] and [ParsePolicy].
//
// # Limiters
//
// A [Limiter] is a policy with one state, a [PerClient] with a state for each
// key. Allow consumes one, AllowN several or nothing, and Take says more in its
// [Decision]: what remains, when to try again, when it is full. Peek says what
// Take would. Nothing is consumed by a denial.
//
// Several limiters, each with a key of its own, are decided together as
// [Layers]: all of them are charged, or none. [Layers.Hold] keeps a receipt for all
// of them.
//
// # Waiting, settling, changing
//
// Wait sleeps until its turn. Reserve takes the turn and leaves the sleeping to
// the caller. Both are served in order. A [Reservation] is a receipt: Cancel
// gives it back before its instant, and Settle corrects an estimate when the
// cost is known. Charge and Refund do the same without a receipt. SetPolicy
// replaces a policy while the limiter is in use, and carries what was used;
// [PerClient.TakeAs] decides by a policy of the caller's.
//
// # What holds
//
// In any span of time d, whatever the traffic, the goroutines and the clock,
// no more is admitted than [Policy.MaxWithin] of d, but for what Charge, Refund,
// Reset, SetPolicy, [WithShadow] and [EvictFullest] let through by their nature.
// After a denial
// with RetryAfter r the same request fails at r - 1 ns and succeeds at r, if
// nothing else was taken meanwhile and the client is not one that
// [WithMaxClients] has no place for. A clock that steps back adds nothing,
// denies nobody who would have been admitted before the step, and is back to
// normal when it has caught up.
//
// # Memory
//
// A client is held from its first admission until a sweep finds it full again:
// a full one needs no memory, as it is like one that was never seen.
// [WithMaxClients] bounds how many are held. Keys are held as 64-bit hashes with
// a secret seed; see [PerClient] for what that means.
//
// # To see what it does
//
// Stats counts, OnDenied and LogDenied tell of denials, and with [WithTopDenied] the
// clients are known that are denied most. Package debuglimit shows it all on a page.
//
// # Time
//
// The default clock is monotonic, so that nothing happens when the machine's
// time is set. Windows begin at round times in UTC as known when the process
// started. Tests use a [ManualClock], or testing/synctest with the default one.
package weir
