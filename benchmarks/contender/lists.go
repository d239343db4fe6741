package contender

// Singles are the contenders for one limiter that everybody shares.
func Singles() []Contender {
	return []Contender{FloorSingle, FloorSingleCounted, Weir, WeirAll, WeirCoarse, XTime, Uber, Juju, Failsafe}
}

// Hot are the contenders for one key that everybody asks for.
func Hot() []Contender {
	return append([]Contender{FloorHot, FloorHotRetried, FloorHotCounted, FloorFound}, Keyed()...)
}

// Population are the contenders for many keys.
func Population() []Contender {
	return append([]Contender{FloorTable, FloorTableCounted, FloorFound}, Keyed()...)
}

// Growing are those for clients that nobody saw before.
func Growing() []Contender { return append([]Contender{FloorTable, FloorFound}, Keyed()...) }

// Keyed are those that keep a state for each key.
func Keyed() []Contender {
	return []Contender{WeirClients, GoLimiter, Throttled, Ulule, Httprate, MutexMap, SyncMap}
}

// Waiting are those that can wait until they are allowed.
func Waiting() []Contender {
	return []Contender{FloorSingle, WeirWait, WeirAllow, XTimeWait, Uber}
}

// Reserving are those that can be reserved from.
func Reserving() []Contender {
	return []Contender{FloorSingle, WeirCancel, WeirSettle, XTimeCancel}
}

// Layered are three limits that have to be passed, and one.
func Layered() []Contender { return []Contender{WeirLayers, WeirThree, WeirKeyed} }

// WithPlans are a PerClient whose clients have policies of their own, and one
// whose clients have not.
func WithPlans() []Contender { return []Contender{WeirTakeAs, WeirPlans, WeirTake} }

// ThatDeny returns those that can say no.
func ThatDeny(contenders []Contender) (deny []Contender) {
	for _, c := range contenders {
		if !c.Waits {
			deny = append(deny, c)
		}
	}
	return deny
}
