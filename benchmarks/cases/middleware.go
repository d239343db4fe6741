package cases

import "github.com/goweir/weir/benchmarks/contender"

// Middleware is HTTP requests that are allowed.
func Middleware() Case {
	return Case{
		Name:  "http",
		Title: "A request through HTTP middleware",
		About: "Requests of one address, with room for all, to a handler that does nothing: no network, only what the middleware" +
			" adds. Each tells the client what its documentation says it does.",
		Contenders: contender.Middlewares(),
		Limit:      contender.Roomy,
		Garbage:    true,
		Traffic:    hot,
	}
}

// MiddlewareDenied is HTTP requests that are denied, with an answer each.
func MiddlewareDenied() Case {
	return Case{
		Name:       "http-denied",
		Title:      "A request that HTTP middleware denies",
		About:      "The same where the address has used up its limit.",
		Contenders: contender.ThatDeny(contender.Middlewares()),
		Limit:      contender.Closed,
		Spend:      true,
		Garbage:    true,
		Traffic:    hot,
	}
}
