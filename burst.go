package weir

// BurstReserve returns the policy of a sustained limit with a reserve beside
// it for when that is spent: FirstOf(TokenBucket(sustained), TokenBucket(reserve))
// with a name of its own. A request is paid whole by one of the two, so no more
// is admitted at once than one of the two buckets holds.
func BurstReserve(sustained, reserve Limit) Policy {
	return newCombination(AlgorithmFirstOf, "burst-reserve("+sustained.String()+", "+reserve.String()+")",
		[]Policy{TokenBucket(sustained), TokenBucket(reserve)})
}
