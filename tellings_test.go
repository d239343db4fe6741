package weir_test

import (
	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
)

// tellings are what weir was broken by on purpose without another test telling, named for what it then did not keep.
var tellings = map[string]telling{
	"a refund leaves a hole where its part of first-of was paid": {
		"first-of(token-bucket 6/s burst 1, token-bucket 8/10s burst 2)", 0, model.Options{},
		"Reserve n 1 within 2500ms; Reserve n 1; Refund n 1; Take n 1; Settle receipt 1",
	},
	"a ticket that was cancelled is another one": {
		"token-bucket 4/13s burst 7", 0, model.Options{},
		"Take n 2; Reserve n 7; Reserve n 1; Cancel receipt 0; Reserve n 4",
	},
	"a receipt of a client that was evicted is worth nothing": {
		"sliding-counter 11/7ms", 2, model.Options{MaxClients: 1},
		"Reserve n 1 within -1ns; Take key 1 n 1; Reserve n 1 within 4646642ns; Settle receipt 0",
	},
	"a reservation settled before its instant stays settled": {
		"token-bucket 4/997ns burst 13", 4, model.Options{MaxClients: 100},
		"Take key 3 n 3; Charge key 3 n 6; Reserve key 3 n 5 within 1993ns; Settle receipt 0 n 7; SetPolicy sliding-window 12/10s; Advance 1m; Settle receipt 0 n 6",
	},
	"reserving nothing leaves a plan alone": {
		"fixed-window 10/h", 3, model.Options{MaxClients: 1, Overflow: weir.DenyNew},
		"TakeAs key 2 n 1 sliding-counter 999983/s; Reserve key 2",
	},
	"a charge makes room, and a negative number none": {
		"leaky-bucket 3/h queue 1", 2, model.Options{MaxClients: 1},
		"Charge n 1; TakeAs key 1 n -1 token-bucket 999983/s burst 2",
	},
	"a reservation that another policy puts off by more than 30 years is struck": {
		"sliding-window 5/h", 0, model.Options{},
		"Take n 2; Take n 3; Reserve n 1; SetPolicy sliding-counter 1/10957d12h",
	},
	"logs that move are found again": {
		"sliding-window 6/10s", 2, model.Options{MaxClients: 2, Overflow: weir.ShareOverflow},
		"Reserve key 1 n 1; Take n 2; Reserve n 5; Reset key 1; Sweep; Cancel receipt 1",
	},
	"a reservation that is refused leaves a plan alone": {
		"token-bucket 1/10957d12h", 1, model.Options{MaxClients: 100},
		"TakeAs n 2 token-bucket 60/m burst 20; Reserve n 1 within 8s; TakeAs token-bucket 60/m burst 20",
	},
	"a shared state that was waited for owes nothing once it is full": {
		"fixed-window 7/13s", 3, model.Options{MaxClients: 2, Overflow: weir.ShareOverflow},
		"Advance 1ns; Reserve key 2 n 1; Reserve n 1; Take key 1 n 3; Reserve key 1 n 5; Advance 12999999999ns",
	},
	"a shared state that is waited for owes": {
		"sliding-counter 2/997ns", 3, model.Options{MaxClients: 1, Overflow: weir.ShareOverflow},
		"Reserve key 2 n 3; Sweep key 2; Take key 2 n 1; Take n 1; Refund key 2 n 1; Take n 1; Advance 269ns; Cancel receipt 0; Sweep key 1; Reserve key 2 n 1; Refund n 2",
	},
	"a policy of no state takes no room": {
		"sliding-counter 5/h", 3, model.Options{MaxClients: 2, Overflow: weir.ShareOverflow},
		`SetPolicy leaky-bucket 1/1ns burst 0; TakeAs key 2 n 1 sliding-window 3/1s423ms196us536ns as "per \"client\""; TakeAs key 1 n 1 sliding-counter 5/h as "another"; Reserve n 1`,
	},
	"a sweep that drops nothing is not noted": {
		"sliding-window 10/997ns", 1, model.Options{MaxClients: 2, Overflow: weir.ShareOverflow},
		"Sweep; Advance -1ns",
	},
	"a look makes no client": {
		"leaky-bucket 5/7ms queue 4", 2, model.Options{MaxClients: 3, Overflow: weir.DenyNew},
		"Reserve; Cancel receipt 0",
	},
	"a charge under pressure counts once": {
		"sliding-counter 3/h", 2, model.Options{MaxClients: 1},
		"Reserve n 1; Charge key 1 n 1",
	},
	"nothing is reserved at once": {
		"sliding-window 2/7ms", 1, model.Options{MaxClients: 100},
		"Reserve n 1; Advance 1ns; Reserve",
	},
	"an unlimited plan is not kept": {
		"token-bucket 6/997ns burst 9", 2, model.Options{MaxClients: 100},
		`TakeAs key 1 n 1 sliding-counter unlimited as "a"`,
	},
	"of a part that was refunded the rest is given back": {
		"token-bucket 6/997ns burst 16", 0, model.Options{},
		"Reserve n 2 within -1ns; Refund n 1; Settle receipt 0",
	},
	"who is waited for is not full": {
		"sliding-window 5/10s", 3, model.Options{MaxClients: 1, Overflow: weir.DenyNew},
		"Reserve; Settle receipt 0 n 3; Reserve n 3; Take key 2",
	},
	"a sweep leaves a receipt that is outstanding": {
		"sliding-window 11/7ms", 4, model.Options{MaxClients: 1, Overflow: weir.ShareOverflow},
		"Reserve key 3 n 1 within 0ns; Sweep key 1; Settle receipt 0",
	},
	"what is given back lets those who come now be sooner": {
		"token-bucket 6/997ns burst 16", 0, model.Options{},
		"Reserve n 7 within -1ns; Reserve n 8; Reserve n 2; Settle receipt 0",
	},
	"a hole that time has passed does not keep a client": {
		"leaky-bucket 2/10s queue 2", 3, model.Options{MaxClients: 100},
		"Reserve key 2 n 1; Refund key 2 n 1; Advance 9999999999ns; Sweep key 2",
	},
	"a negative number does not overflow": {
		"token-bucket 9/10s burst 16", 2, model.Options{MaxClients: 1, Overflow: weir.ShareOverflow},
		"TakeAs key 1 n 1 token-bucket 13/2s159ms72us960ns burst 5; Reserve n -1",
	},
	"who shares comes after who was evicted": {
		"token-bucket 8/10s burst 15", 3, model.Options{MaxClients: 1, Overflow: weir.ShareOverflow},
		"Take n 1; Take key 1 n 1; Advance 1m; Reserve key 1 n 1; Reserve key 2 n 1",
	},
	"who is full in a nanosecond is not full": {
		"sliding-window 12/10s", 2, model.Options{MaxClients: 1, Overflow: weir.ShareOverflow},
		"Reserve key 1 n 1; Advance 3333333333ns; Advance 6666666666ns; Reserve n 1",
	},
	"a client that was swept is a new one": {
		"sliding-window 1/h", 1, model.Options{MaxClients: 2, Overflow: weir.ShareOverflow},
		"TakeAs n 1 sliding-window 7/s; Advance 1s; Sweep; TakeAs sliding-window 7/s",
	},
	"a denial that is remembered keeps a client": {
		"token-bucket 11/997ns burst 9", 2, model.Options{MaxClients: 100},
		"Take n 1; TakeAs n 1 token-bucket 6/13s burst 1; Advance 767073ns; Sweep key 1",
	},
	"a denial that is remembered keeps a client until it is full": {
		"sliding-counter 3/997ns", 1, model.Options{MaxClients: 2, Overflow: weir.ShareOverflow},
		"Reserve; Settle receipt 0 n 6; TakeAs n 6 fixed-window 10/7ms; Advance 1s; Sweep",
	},
	"what was struck cannot be settled": {
		"token-bucket 2/997ns burst 13", 0, model.Options{},
		"Take n 1; Reserve n 13; SetPolicy fixed-window 11/2s164ms963us760ns; Settle receipt 0",
	},
	"a refund is not undone with a reservation": {
		`fixed-window 2/3ns as "b"`, 1, model.Options{MaxClients: 100},
		"TakeAs n 1 sliding-counter 7/997ns; Charge n 1; Reserve n 1; Refund n 1; Cancel receipt 0",
	},
	"one less is given back before the instant": {
		"token-bucket 6/13s burst 9", 1, model.Options{MaxClients: 100},
		`TakeAs n 1 token-bucket 6/13s burst 9 as "another"; Take n 7; Reserve n 2; Settle receipt 0 n 1`,
	},
	"what was given back already is not ahead": {
		"token-bucket 7/s burst 14", 1, model.Options{MaxClients: 100},
		`Reserve n 1; Refund n 1; TakeAs n 1 token-bucket 7/s burst 14 as "another"; Advance 1ns; Settle receipt 0`,
	},
	"a receipt from before a plan is worth nothing": {
		"token-bucket 11/10s burst 17", 2, model.Options{MaxClients: 2, Overflow: weir.ShareOverflow},
		`Reserve n 1 within -1ns; TakeAs n 1 sliding-window 7/13s as "a"; Reserve n 1 within -1ns; Settle receipt 0`,
	},
	"what is full now may be swept now": {
		"fixed-window 2000000000/s", 3, model.Options{MaxClients: 2},
		"Charge key 2 n 1; Advance 225783430ns; Advance 872697827ns; SetPolicy key 1 token-bucket 9/s burst 11; Sweep",
	},
	"a receipt is settled once": {
		"token-bucket 4/997ns burst 13", 4, model.Options{MaxClients: 100},
		"Charge key 3 n 6; AllowN key 3 n 3; Reserve key 3 n 5 within 1993ns; Settle receipt 0 n 1; Settle receipt 0 n 7",
	},
	"a client whose plan is reset is a plain one": {
		"fixed-window 10/7ms", 3, model.Options{MaxClients: 2, Overflow: weir.DenyNew},
		`SetPolicy sliding-window 3/10592d6h as "a"; TakeAs key 2 n 1 sliding-window 5/10s; Reserve key 2 n 1; Reset key 2`,
	},
	"the state ahead is without what no longer counts": {
		"first-of(first-of(sliding-window 1/d), sliding-window 11/2556d18h, first-of(token-bucket 3/1ns))", 0, model.Options{},
		"Reserve; Reserve n 1 within -1ns; Settle receipt 0 n 4; Take n 3; Take n 4; Reserve n 1; Advance 1ns; Reserve n 4",
	},
	"a client that was reset is a new one": {
		"token-bucket 1/10s burst 12", 3, model.Options{MaxClients: 2, Overflow: weir.DenyNew},
		`TakeAs key 2 n 1 token-bucket 1/10s burst 12 as "another"; Reset key 2; TakeAs token-bucket 10/h burst 8; Reserve key 2 n 1; Settle receipt 0`,
	},
	"holes are not handed on": {
		"token-bucket 6/997ns burst 12", 1, model.Options{MaxClients: 100},
		`AllowN n 3; Reserve n 1; TakeAs n 7 token-bucket 6/997ns burst 12 as "a"; Advance 1ns; Reserve n 2 within 1329ns; Refund n 2; TakeAs token-bucket 13/7s858ms160us558ns`,
	},
	"a line is handed on once": {
		"token-bucket 3/997ns burst 12", 4, model.Options{MaxClients: 100},
		`Reserve n 1; Take key 3 n 2; Reserve key 3 n 11; SetPolicy key 2 leaky-bucket 18/6s319ms586us542ns burst 2 queue 1 as "a"; Reserve n 1; TakeAs leaky-bucket 12/s queue 4`,
	},
	"a reservation is paid where it is at its instant": {
		"token-bucket 9/h burst 2", 1, model.Options{MaxClients: 100},
		"Charge n 6; Reserve n 1; Settle receipt 0 n 7; TakeAs first-of(leaky-bucket 1/10957d12h, first-of(sliding-counter 6/4s628ms443us227ns), fixed-window 5/2s900ms747us476ns)",
	},
	"a turn that is now is seen by the next": {
		"leaky-bucket 4/13s", 0, model.Options{},
		"SetPolicy first-of(fixed-window 10/5s6ms7us565ns, token-bucket 12/3s67ms598us961ns, sliding-counter 3/10592d6h); Take n 11; Take n 2; Reserve n 9; Charge; Reserve; Reserve n 1",
	},
	"a plan of nothing does not crowd a full shared state": {
		"leaky-bucket 3/s burst 1000", 4, model.Options{MaxClients: 2, Overflow: weir.ShareOverflow},
		`TakeAs key 1 n 1 token-bucket 999983/s burst 1 as "another"; Reserve n 1 within -1ns; Reserve key 3 n 1; Refund key 3 n 1; Advance 1ms; TakeAs key 3 leaky-bucket 5/13s queue 2 as "another"`,
	},
	"what was paid is not undone with a reservation": {
		"sliding-window 9/997ns", 2, model.Options{MaxClients: 3, Overflow: weir.DenyNew},
		`Reserve key 1 n 1 within 0ns; TakeAs key 1 n 1 all(sliding-counter 1/1ns as "a", fixed-window 2/5s889ms624us998ns as "b", fixed-window 11/2556d18h); Reserve key 1 n 1; Advance 871ns; Advance 233ns; Sweep`,
	},
	"a receipt outlives a sweep for as long as it is outstanding": {
		"token-bucket 10/h", 1, model.Options{MaxClients: 100},
		"Reserve n 3; Advance 61s; Sweep; Settle receipt 0",
	},
	"a nanosecond is outstanding": {
		"token-bucket 1/1ns", 1, model.Options{MaxClients: 100},
		"Reserve n 1; Settle receipt 0",
	},
	"a receipt from before two plans is worth nothing": {
		"token-bucket 2/10s", 1, model.Options{MaxClients: 100},
		"Reserve n 2; TakeAs n 1 sliding-window 2/4s; Advance 4s; TakeAs n 1 sliding-window 2/4s; Take n 2; Advance 5s; Take n 2; Settle receipt 0",
	},
	"what was charged later than now is not swept": {
		"fixed-window 2/10s", 1, model.Options{MaxClients: 100},
		"Take n 1; Advance 1s; Refund n 1; Advance -1s; Sweep",
	},
	"a peek does not notice an instant": {
		"token-bucket 2/10s", 1, model.Options{MaxClients: 100},
		"Take n 2; Reserve n 1; Advance 5s; Peek n 1; Advance -5s; Cancel receipt 0; Take n 1",
	},
	"a look notices an instant": {
		"token-bucket 2/10s", 1, model.Options{MaxClients: 100},
		"Take n 2; Reserve n 1; Advance 5s; Look receipt 0; Advance -5s; Cancel receipt 0; Take n 1",
	},
	"a receipt from before two policies is worth nothing": {
		"token-bucket 2/10s", 1, model.Options{MaxClients: 100},
		"Reserve n 2; SetPolicy sliding-window 2/4s; SetPolicy token-bucket 2/10s; Settle receipt 0",
	},
	"those of one instant go on in their order": {
		"fixed-window 2/10s", 0, model.Options{},
		"Take n 2; Reserve n 1; Reserve n 1; SetPolicy token-bucket 1/10s",
	},
	"a ticket of one who settled early is as new": {
		"token-bucket 2/10s", 0, model.Options{},
		"Take n 2; Reserve n 1; Settle receipt 0 n 2; SetPolicy token-bucket 100/10s; Reserve n 3; Settle receipt 1",
	},
	"to settle what it cost is nothing": {
		"fixed-window 2/2s", 1, model.Options{MaxClients: 100},
		"Reserve n 1; Advance 5s; Settle receipt 0 n 1; Advance -5s; Take n 1",
	},
	"to refund nothing is nothing": {
		"fixed-window 2/2s", 1, model.Options{MaxClients: 100},
		"Take n 1; Advance 5s; Refund; Advance -5s; Take n 1",
	},
	"a receipt of decades ago is worth nothing": {
		"token-bucket 2/10s", 0, model.Options{},
		"Reserve n 2; Advance 350640h; Take n 1; Settle receipt 0; Advance -1ns",
	},
	"a receipt is read rightly at any reading": {
		"token-bucket 2/10s", 0, model.Options{},
		"Advance -272167846808552835ns; Reserve n 2; Advance 5s; Settle receipt 0",
	},
	"an eighth of a nanosecond is given back": {
		"token-bucket 3/1ns", 0, model.Options{},
		"Reserve n 3; Advance 1ns; Settle receipt 0",
	},
	"what was given back was so at its reading": {
		"token-bucket 4/40s", 1, model.Options{MaxClients: 100},
		"Take n 1; Advance 3s; Reserve n 2; Advance 8s; Settle receipt 0 n 1; Advance -8s; Take n 1",
	},
	"who has no bucket takes all": {
		"all(token-bucket unlimited, token-bucket 2/10s)", 0, model.Options{},
		"Take n 2; Reserve n 1; Advance 5s",
	},
	"each bucket gives back what it has taken": {
		"all(token-bucket 2/10s, token-bucket 3/10s)", 0, model.Options{},
		"Take n 2; Reserve n 1; Charge n 100000000; Advance 5s; Settle receipt 0",
	},
	"within nothing is at once": {
		"token-bucket 1/1ns", 0, model.Options{},
		"Take n 1; Reserve n 1 within 0s",
	},
	"in shadow nothing is reserved for later": {
		"token-bucket 1/1ns", 0, model.Options{Shadow: true},
		"Take n 1; Reserve n 1; Take n 1",
	},
	"who shares comes after what was swept": {
		"fixed-window 2/10s", 3, model.Options{MaxClients: 1, Overflow: weir.ShareOverflow},
		"Take n 1; Advance 20s; Sweep; Take n 1; Advance -15s; Reserve key 1 n 1; Take key 1 n 1",
	},
	"who shares what is waited for comes after what was swept": {
		"fixed-window 2/10s", 3, model.Options{MaxClients: 1, Overflow: weir.ShareOverflow},
		"Take n 1; Take key 1 n 2; Reserve key 2 n 2; Reserve key 2 n 2; Reserve key 2 n 2; Advance 20s; Sweep; Advance -15s; Take key 1 n 1",
	},
	"an unlimited client is not held": {
		"token-bucket unlimited", 2, model.Options{MaxClients: 100},
		"Take n 1; AllowN n 1",
	},
	"an eighth of a nanosecond is owed": {
		"token-bucket 3/1ns", 3, model.Options{MaxClients: 1, Overflow: weir.ShareOverflow},
		"Take n 1; Take key 1 n 3; Advance 1ns; Take key 2 n 1",
	},
	"a shared nanosecond is owed": {
		"token-bucket 1/1ns", 3, model.Options{MaxClients: 1, Overflow: weir.ShareOverflow},
		"Take n 1; Take key 1 n 1; Reserve key 1 n 1; Advance 1ns; Take key 2 n 1",
	},
	"what is never admitted overflows, too": {
		"token-bucket 2/h", 2, model.Options{MaxClients: 1, Overflow: weir.DenyNew},
		"Take key 1 n 1; SetPolicy key 1 all(fixed-window 8/s, token-bucket 11/d burst 0); Reserve n 1",
	},
	"a front is not handed on": {
		"token-bucket 12/h burst 7", 3, model.Options{MaxClients: 100},
		"Take key 2 n 5; Reserve key 2 n 2; Reserve key 2 n 1 within 30m; Reserve key 2 n 1; Advance 249656942705ns; Settle receipt 1 n 3; Advance 1m; TakeAs key 2 sliding-counter 9/1s158ms663us821ns; Advance -1ns",
	},
	"a front is of no use before its time": {
		"token-bucket 2/10s", 0, model.Options{},
		"Take n 2; Reserve n 1; Advance 2s; Advance -2s",
	},
}
