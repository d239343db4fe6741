package contender

import (
	"time"

	"github.com/goweir/weir"
)

// WeirKeyed is WeirClients where something else has its name.
var WeirKeyed = Contender{Name: "weir, Allow", Module: weirModule, How: WeirClients.How, New: WeirClients.New}

// WeirLayers are three weir.PerClients that a request has to pass.
var WeirLayers = Contender{
	Name: "weir", Module: weirModule,
	How: "`NewLayers(By(c1, key), By(c2, key), By(c3, key)).Allow(r)`, each a `NewPerClient[string](TokenBucket(l))`",
	New: func(l Limit, _ int) Limiter {
		var three []weir.Layer[string]
		var clients []*weir.PerClient[string]
		for range 3 {
			c := weir.NewPerClient[string](weir.TokenBucket(l.weir()), weir.WithStaleAfter(time.Hour))
			clients = append(clients, c)
			three = append(three, weir.By(c, itself))
		}
		layers := weir.NewLayers(three...)
		return Limiter{
			Ask: func(keys []string) (allowed int) {
				for _, key := range keys {
					if layers.Allow(key) {
						allowed++
					}
				}
				return allowed
			},
			Close: func() {
				for _, c := range clients {
					_ = c.Close()
				}
			},
		}
	},
}

func itself(key string) (string, bool) { return key, true }

// WeirThree are the same asked one after the other: not all or nothing.
var WeirThree = Contender{
	Name: "weir, three Allows", Module: weirModule, How: "`c1.Allow(key) && c2.Allow(key) && c3.Allow(key)`, which takes from some where one denies",
	New: func(l Limit, _ int) Limiter {
		var three [3]*weir.PerClient[string]
		for i := range three {
			three[i] = weir.NewPerClient[string](weir.TokenBucket(l.weir()), weir.WithStaleAfter(time.Hour))
		}
		return Limiter{
			Ask: func(keys []string) (allowed int) {
				for _, key := range keys {
					if three[0].Allow(key) && three[1].Allow(key) && three[2].Allow(key) {
						allowed++
					}
				}
				return allowed
			},
			Close: func() {
				for _, c := range three {
					_ = c.Close()
				}
			},
		}
	},
}
