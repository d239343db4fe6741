// Manualclock shows how to test code that uses weir: Reminder is somebody's own type, and its test,
// beside this file, moves the clock by hand, so that an hour takes no time and an instant is exact.
package main

import (
	"fmt"

	"github.com/goweir/weir"
)

// Reminder sends each user at most one mail an hour.
type Reminder struct {
	perUser *weir.PerClient[string]
	send    func(user, text string)
}

// NewReminder takes options for one reason: the test passes a clock.
func NewReminder(send func(user, text string), opts ...weir.Option) *Reminder {
	return &Reminder{
		perUser: weir.NewPerClient[string](weir.SlidingWindow(weir.PerHour(1)), opts...),
		send:    send,
	}
}

// Remind reports whether the mail went out.
func (r *Reminder) Remind(user, text string) bool {
	if !r.perUser.Allow(user) {
		return false
	}
	r.send(user, text)
	return true
}

// Close ends what the limiter has running.
func (r *Reminder) Close() error { return r.perUser.Close() }

func main() {
	r := NewReminder(func(user, text string) { fmt.Printf("to %s: %s\n", user, text) })
	defer r.Close()
	for range 3 {
		r.Remind("ann", "your trial ends tomorrow")
	}
}
