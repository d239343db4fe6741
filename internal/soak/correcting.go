package main

import (
	"time"

	"github.com/goweir/weir"
)

// newCorrecting returns the scenario of clients whose use is corrected by Charge,
// Refund and Reset. No bound holds for those, but all else does.
func newCorrecting(st *stage) *scenario {
	const clientsOfAll = 128
	clients := weir.NewPerClient[int](weir.BurstReserve(weir.PerSecond(200).WithBurst(5), weir.PerSecond(50).WithBurst(5)),
		weir.WithSweepEvery(200*time.Millisecond), weir.WithStaleAfter(50*time.Millisecond))
	s := newScenario(st, "corrections", clients)
	s.turn = func(w *worker, l *lane) {
		for range callsATurn {
			key := w.random.IntN(clientsOfAll)
			l.start()
			ok := clients.Allow(key)
			l.lap()
			l.count(ok)
			if !ok {
				continue
			}
			switch w.random.IntN(6) {
			case 0:
				clients.Charge(key, 1)
			case 1:
				clients.Refund(key, 1)
			case 2:
				clients.Reset(key)
			}
		}
	}
	s.lanes[0].keys.Store(clientsOfAll)
	return s
}
