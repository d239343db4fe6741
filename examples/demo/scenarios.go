package main

import (
	"time"

	"github.com/goweir/weir"
)

// A scenario is one route of the server, the limit in front of it, and the clients that use it.
type scenario struct {
	name    string      // the route is /name/{client}
	policy  weir.Policy // what one client is limited by
	whose   string      // who has that limit
	take    func(client string) weir.Decision
	stats   func() weir.Stats
	close   func() error
	clients []client

	// shared limits all clients together, in front of their own limits. The zero Policy: nothing does.
	shared weir.Policy
	// stream: a client sends its messages on one connection, as over a WebSocket.
	stream bool
}

type client struct {
	name    string
	sends   load
	behaves bool // stays below its limit, so it must never be denied
}

func scenarios() []*scenario {
	return []*scenario{
		perClient("api", weir.TokenBucket(weir.PerSecond(1).WithBurst(60)),
			client{name: "app", sends: every(50 * time.Millisecond)},
		),
		perClient("login", weir.TokenBucket(weir.Every(10*time.Second).WithBurst(5)),
			client{name: "guesser", sends: every(100 * time.Millisecond)},
			client{name: "alice", sends: times(3, every(200*time.Millisecond)), behaves: true},
		),
		messages("messages", weir.TokenBucket(weir.Per(20, 100*time.Millisecond).WithBurst(100)),
			client{name: "bot", sends: every(2500 * time.Microsecond)},
			client{name: "typist", sends: every(50 * time.Millisecond), behaves: true},
		),
		oneForAll("jobs", weir.TokenBucket(weir.PerSecond(10)),
			client{name: "queue", sends: every(20 * time.Millisecond)},
		),
		perClient("reserve", weir.BurstReserve(weir.PerSecond(100), weir.PerSecond(5).WithBurst(50)),
			client{name: "greedy", sends: every(4 * time.Millisecond)},
			// 130 at once is more than a second's worth: the reserve is there for that.
			client{name: "spiky", sends: inTurn(times(130, flood(1)), every(20*time.Millisecond)), behaves: true},
		),
		perClient("flood", weir.TokenBucket(weir.PerSecond(50).WithBurst(20)),
			client{name: "flooder", sends: flood(4)},
			client{name: "neighbour", sends: every(40 * time.Millisecond), behaves: true},
		),
		globalAndPerClient("global",
			weir.TokenBucket(weir.PerSecond(100).WithBurst(50)),
			weir.TokenBucket(weir.PerSecond(40).WithBurst(20)),
			client{name: "north", sends: every(16 * time.Millisecond)},
			client{name: "east", sends: every(16 * time.Millisecond)},
			client{name: "south", sends: every(16 * time.Millisecond)},
			client{name: "west", sends: every(50 * time.Millisecond)},
		),
	}
}

// perClient gives every client a limit of its own.
func perClient(name string, p weir.Policy, clients ...client) *scenario {
	own := weir.NewPerClient[string](p)
	return &scenario{
		name: name, policy: p, whose: "each client", clients: clients,
		take:  func(client string) weir.Decision { return own.Take(client, 1) },
		stats: own.Stats,
		close: own.Close,
	}
}

// messages is perClient for messages on a connection that stays open: each message is one decision.
func messages(name string, p weir.Policy, clients ...client) *scenario {
	s := perClient(name, p, clients...)
	s.stream = true
	return s
}

// oneForAll has one limiter, whoever asks.
func oneForAll(name string, p weir.Policy, clients ...client) *scenario {
	all := weir.New(p)
	return &scenario{
		name: name, policy: p, whose: "all together", clients: clients,
		take:  func(string) weir.Decision { return all.Take(1) },
		stats: all.Stats,
		close: func() error { return nil },
	}
}

// globalAndPerClient has a limit for everybody together in front of each client's own.
func globalAndPerClient(name string, shared, each weir.Policy, clients ...client) *scenario {
	global, own := weir.New(shared), weir.NewPerClient[string](each)
	return &scenario{
		name: name, policy: each, whose: "each client", shared: shared, clients: clients,
		take: func(client string) weir.Decision {
			// Peek first: a client above its own limit must not use up what it shares with the others.
			// If another request of the same client comes in between, a shared token is lost, never won.
			if d := own.Peek(client, 1); !d.Allowed {
				return d
			}
			if d := global.Take(1); !d.Allowed {
				return d
			}
			return own.Take(client, 1)
		},
		stats: own.Stats,
		close: own.Close,
	}
}

func closeAll(all []*scenario) {
	for _, s := range all {
		s.close()
	}
}
