// Package debuglimit is a page that shows who is being limited, right now: each
// limiter with its policy in words, what it allows and denies a second, its clients,
// those that are denied most, and for any client what would be decided about it and when it is full again.
//
//	page := new(debuglimit.Page)
//	page.Add("search", debuglimit.PerClient(clients, debuglimit.Strings()))
//	http.Handle("/debug/weir", page)
//
// It only reads: nothing on the page changes a limiter. It is for the machine itself,
// and refuses whoever is not on it, unless [Page.Allow] says otherwise. From elsewhere a tunnel
// reaches it:
//
//	ssh -N -L 8080:localhost:8080 the-machine
//
// With ?format=json it is the same as JSON, with &limiter=NAME one limiter more closely,
// and with &key=KEY a client of it.
//
// Nothing runs while no page is open. While one is, the counters are read once a second, for
// all pages together. A browser has six connections to a server by HTTP/1.1, and each page that is
// open takes one.
package debuglimit
