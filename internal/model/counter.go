package model

// A counter is a window in which what was taken in the window before counts as
// well, weighted by the part of that which is less than a period ago.
type counter struct{ window }

func (c *counter) clone() meter { return &counter{window{c.cloned()}} }

// weigh is the exact sum at t, in the window k.
func (c *counter) weigh(t, k number) number {
	inView := over(minus(c.begins(plus(k, one)), t), c.period)
	return plus(c.sum(c.within(k)), times(c.sum(c.within(minus(k, one))), inView))
}

func (c *counter) used(t number) number {
	k := c.current(t)
	return ceil(c.weigh(most(t, c.begins(k)), k))
}

func (c *counter) free(t number) number {
	if less(c.number(t), c.current(t)) {
		return zero
	}
	return most(zero, minus(c.count, c.used(t)))
}

func (c *counter) when(t, n number) number {
	k := c.current(t)
	end := c.begins(plus(k, whole(2))) // by then nothing of it is in view
	return firstInstant(most(t, c.begins(k)), end, func(t number) bool {
		return !less(c.count, plus(c.weigh(t, c.number(t)), n))
	})
}

// mostCounted is what is counted in a window at the most.
var mostCounted = whole(int64(1 << 61))

func (c *counter) take(t, n number, _ *Reservation) {
	room := minus(mostCounted, c.sum(c.within(c.number(t))))
	c.add(t, least(n, most(zero, room)))
}

func (c *counter) refund(t, n number) number {
	k := c.number(t)
	return c.lessen(n, func(at number) bool { return !less(c.number(at), minus(k, one)) })
}

func (c *counter) settle(t, n number, by *Reservation) {
	k, of := c.number(t), c.number(by.at)
	if equal(of, k) || equal(of, minus(k, one)) {
		c.lessen(n, c.within(of))
	}
}
