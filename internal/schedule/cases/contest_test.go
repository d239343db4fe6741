package cases

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/goweir/weir/internal/schedule"
)

// An operation is one of weir's, on a world and on what its thread made there
// before. It returns what was answered.
type operation struct {
	name string
	do   func(w *world, own *made) any
}

// A contest is threads of operations that run beside each other in a world.
type contest struct {
	world   func() *world
	threads [][]operation
	sleep   time.Duration // goes by meanwhile
	endless bool          // a run may have no end: the long ones are given up
	every   bool          // run each interleaving
	count   bool          // the interleavings that runs stand for
}

// A history is what was seen of operations, the threads' one behind the other, and
// of the time's going by.
type history struct {
	answers      []string
	begun, ended []int // at which event
	events       int
}

// boundaries is where operations begin and end. Which of two comes first matters
// only where one begins and the other ends.
var boundaries = unsafe.Pointer(new(int64))

// run runs an operation of a thread and notes it as that of a number.
func (h *history) run(number, thread int, o operation, w *world) {
	schedule.Point(schedule.Read, boundaries)
	h.events++
	h.begun[number] = h.events
	answer := fmt.Sprint(o.do(w, &w.made[thread]))
	schedule.Point(schedule.Add, boundaries)
	h.events++
	h.answers[number], h.ended[number] = answer, h.events
}

// A sequel is what is seen of operations that are done one after the other, some
// of them after time has gone by: each at a reading that it may have had.
type sequel struct {
	order []int
	slept []bool // of each operation
	seen  string
}

// allows reports whether a sequel is a way to explain what was seen: no operation
// comes before one that had ended when it began, nor has a reading that was not
// there while it ran.
func (h *history) allows(s sequel) bool {
	sleep := len(s.order)
	for i, one := range s.order {
		if s.slept[one] && h.ended[one] < h.begun[sleep] || !s.slept[one] && h.ended[sleep] < h.begun[one] {
			return false
		}
		for _, earlier := range s.order[:i] {
			if h.ended[one] < h.begun[earlier] {
				return false
			}
		}
	}
	return true
}

func (c *contest) operations() []operation { return slices.Concat(c.threads...) }

// thread returns whose an operation is.
func (c *contest) thread(number int) (thread int) {
	for ; number >= len(c.threads[thread]); thread++ {
		number -= len(c.threads[thread])
	}
	return thread
}

func (c *contest) newHistory() *history {
	n := len(c.operations())
	h := &history{answers: make([]string, n+1), begun: make([]int, n+1), ended: make([]int, n+1)}
	h.ended[n] = math.MaxInt // it may not sleep at all
	return h
}

// seen is what is compared: what the operations answered, and what they left.
func (c *contest) seen(h *history, w *world) string {
	var text strings.Builder
	for i, o := range c.operations() {
		if !w.anyVictim {
			fmt.Fprintf(&text, "%s: %s\n", o.name, h.answers[i])
		}
	}
	return text.String() + w.left()
}

func (c *contest) name() string {
	var threads []string
	for _, thread := range c.threads {
		var names []string
		for _, o := range thread {
			names = append(names, o.name)
		}
		threads = append(threads, strings.Join(names, ", "))
	}
	if c.sleep > 0 {
		threads = append(threads, "sleep")
	}
	return strings.Join(threads, " | ")
}

// sequels returns what the operations come to in each order, and at all readings,
// and how many steps the longest takes.
func (c *contest) sequels() (all []sequel, longest int, err error) {
	for _, order := range c.orders() {
		readings := uint(0)
		if c.sleep > 0 {
			readings = 1<<len(order) - 1
		}
		for late := range readings + 1 {
			s := sequel{order: order, slept: make([]bool, len(order))}
			for i := range order {
				s.slept[i] = late>>i&1 != 0
			}
			r, err := c.follow(&s)
			if err != nil {
				return nil, 0, fmt.Errorf("one after the other, %v: %w", order, err)
			}
			longest = max(longest, r.Steps)
			all = append(all, s)
		}
	}
	return all, longest, nil
}

// follow finds out what the operations of a sequel come to.
func (c *contest) follow(s *sequel) (schedule.Report, error) {
	operations, h := c.operations(), c.newHistory()
	return schedule.Explore(schedule.Options{}, func() schedule.Program {
		w := c.world()
		run := func() {
			slept := false
			for _, number := range s.order {
				switch late := s.slept[number]; {
				case late && !slept:
					schedule.Sleep(c.sleep)
				case slept && !late:
					schedule.Sleep(-c.sleep)
				}
				slept = s.slept[number]
				h.run(number, c.thread(number), operations[number], w)
			}
			if !slept {
				schedule.Sleep(c.sleep)
			}
		}
		return schedule.Program{Threads: []func(){run}, Check: func() error {
			s.seen = c.seen(h, w)
			return nil
		}}
	})
}

// orders returns all orders of the operations in which each thread's are in theirs.
func (c *contest) orders() (all [][]int) {
	all, number := [][]int{nil}, 0
	for _, thread := range c.threads {
		var merged [][]int
		for _, order := range all {
			merged = append(merged, merge(order, number, len(thread))...)
		}
		all, number = merged, number+len(thread)
	}
	return all
}

// merge returns all orders that are come to by putting n numbers into one.
func merge(order []int, number, n int) (all [][]int) {
	if n == 0 {
		return [][]int{order}
	}
	for at := range len(order) + 1 {
		for _, rest := range merge(order[at:], number+1, n-1) {
			all = append(all, slices.Concat(order[:at], []int{number}, rest))
		}
	}
	return all
}

// explore runs the operations in all orders of their steps. Each has to come to
// what they come to when done one after the other, in an order in which they may
// have been done: weir is linearizable (Herlihy and Wing, TOPLAS 12, 1990).
func (c *contest) explore() (schedule.Report, error) {
	sequels, longest, err := c.sequels()
	if err != nil {
		return schedule.Report{}, err
	}
	o := schedule.Options{Every: c.every, Count: c.count || *figures}
	if !c.every && !c.count {
		o.Runs = *runs
	}
	if c.endless {
		o.Steps = 2*longest + 10
	}
	return schedule.Explore(o, func() schedule.Program {
		w, h := c.world(), c.newHistory()
		return c.program(h, w, func() error {
			if err := w.broken(); err != nil {
				return err
			}
			seen := c.seen(h, w)
			for _, s := range sequels {
				if s.seen == seen && h.allows(s) {
					return nil
				}
			}
			return fmt.Errorf("it comes to\n%sbut one after the other to\n%s", indented(seen), describe(sequels))
		})
	})
}

func (c *contest) program(h *history, w *world, check func() error) schedule.Program {
	p := schedule.Program{Check: check}
	number := 0
	for i, thread := range c.threads {
		first := number
		p.Threads = append(p.Threads, func() {
			for j, o := range thread {
				h.run(first+j, i, o, w)
			}
		})
		number += len(thread)
	}
	if c.sleep > 0 {
		sleep := operation{"sleep", quietly(func(*world, *made) { schedule.Sleep(c.sleep) })}
		p.Threads = append(p.Threads, func() { h.run(number, len(c.threads), sleep, w) })
	}
	return p
}

func describe(sequels []sequel) string {
	var text strings.Builder
	for _, s := range sequels {
		fmt.Fprintf(&text, "%v %v:\n%s", s.order, s.slept, indented(s.seen))
	}
	return text.String()
}

func indented(text string) string { return "\t" + strings.ReplaceAll(text, "\n", "\n\t") + "\n" }
