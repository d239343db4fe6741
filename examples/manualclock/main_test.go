package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

func TestReminder_OneAnHour(t *testing.T) {
	clock := weir.NewManualClock()
	sent := map[string]int{}
	r := NewReminder(func(user, _ string) { sent[user]++ }, weir.WithClock(clock))
	defer r.Close()

	require.True(t, r.Remind("ann", "first"))
	require.False(t, r.Remind("ann", "again, too soon"))
	require.True(t, r.Remind("bob", "another user"))

	clock.Advance(time.Hour - time.Nanosecond)
	require.False(t, r.Remind("ann", "a nanosecond too soon"))

	clock.Advance(time.Nanosecond)
	require.True(t, r.Remind("ann", "second"))
	require.Equal(t, map[string]int{"ann": 2, "bob": 1}, sent)
}

// What main prints: three reminders in a row are one mail.
func Example() {
	main()
	// Output: to ann: your trial ends tomorrow
}
