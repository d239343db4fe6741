package debuglimit

import "sync"

// A latch is open until it is closed for good. The zero latch is open.
type latch struct {
	made, shut sync.Once
	done       chan struct{}
}

// closed returns what is closed with the latch.
func (l *latch) closed() <-chan struct{} {
	l.made.Do(func() { l.done = make(chan struct{}) })
	return l.done
}

func (l *latch) close() {
	l.closed()
	l.shut.Do(func() { close(l.done) })
}
