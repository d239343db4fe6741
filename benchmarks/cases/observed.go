package cases

import "github.com/goweir/weir/benchmarks/contender"

// LimiterObserved is LimiterAllowed with and without all that can look at a limiter.
func LimiterObserved() Case {
	c := LimiterAllowed()
	c.Name, c.Contenders = "limiter-observed", []contender.Contender{contender.Weir, contender.WeirObserved}
	return c
}

// LimiterObservedDenied is LimiterDenied likewise.
func LimiterObservedDenied() Case {
	c := LimiterDenied()
	c.Name, c.Contenders = "limiter-observed-denied", LimiterObserved().Contenders
	return c
}

// HotObserved is HotAllowed likewise.
func HotObserved() Case {
	c := HotAllowed()
	c.Name, c.Contenders = "hot-observed", []contender.Contender{contender.WeirClients, contender.WeirClientsObserved}
	return c
}

// HotObservedDenied is HotDenied likewise.
func HotObservedDenied() Case {
	c := HotDenied()
	c.Name, c.Contenders = "hot-observed-denied", HotObserved().Contenders
	return c
}
