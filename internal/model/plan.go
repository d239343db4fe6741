package model

import "github.com/goweir/weir"

// carry brings the key to another policy for good.
func (k *Key) carry(p weir.Policy, now number) {
	if alike(k.Policy(), p) {
		k.rename(p)
		return
	}
	k.changed()
	k.life.n++
	k.tree, k.newest = k.tree.carried(p, now), now
	k.layOut(now)
}

// rename brings the key to a policy that is alike.
func (k *Key) rename(p weir.Policy) {
	leaves := k.tree.leaves()
	k.tree = newTree(p)
	for i, leaf := range k.tree.leaves() {
		leaf.meter = leaves[i].meter
	}
}

// TakeAs is Take under a policy of the key's own, to which it is brought if n is
// taken. A denial leaves it as it is, and is remembered, so that the key is admitted
// when it was said to be.
func (k *Key) TakeAs(reading int64, n int, p weir.Policy) weir.Decision {
	if k.Policy().Equal(p) {
		return k.Take(reading, n)
	}
	as := k.as(reading, p)
	d := as.Take(reading, n)
	switch {
	case n <= 0 || less(capacity(p), whole(n)):
	case d.Allowed:
		k.become(reading, p)
		k.Take(reading, n)
	case len(k.pending) == 0 && !k.remembers(p):
		k.denied = as
	}
	return d
}

// PeekAs is what TakeAs would say. It changes nothing.
func (k *Key) PeekAs(reading int64, n int, p weir.Policy) weir.Decision {
	if k.Policy().Equal(p) {
		return k.clone().Take(reading, n)
	}
	return k.as(reading, p).Take(reading, n)
}

// as is what the key would be under another policy.
func (k *Key) as(reading int64, p weir.Policy) *Key {
	if k.remembers(p) {
		return k.denied.clone()
	}
	c := k.clone()
	c.carry(p, c.notice(reading))
	return c
}

func (k *Key) remembers(p weir.Policy) bool { return k.denied != nil && k.denied.Policy().Equal(p) }

// become brings the key to another policy, as it was remembered if it was.
func (k *Key) become(reading int64, p weir.Policy) {
	now := k.notice(reading)
	if k.remembers(p) {
		k.life.n++
		k.recall(k.denied)
		return
	}
	k.carry(p, now)
}

// recall makes of the key what it was or is known to be.
func (k *Key) recall(was *Key) {
	was = was.clone()
	k.tree, k.newest = was.tree, was.newest
	k.changed()
}
