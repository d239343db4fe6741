package httplimit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrHeldBack is why a request is not sent that a server holds back for longer
// than MaxWait of the [Transport].
var ErrHeldBack = errors.New("httplimit: held back for longer than MaxWait")

// A WaitError is why a [Transport] did not send a request, or, if it was refused
// before, not again. Nothing of it has reached the server since.
type WaitError struct {
	Host string        // as HostKey writes it
	Wait time.Duration // how long the server holds requests back yet; 0 if it does not, or has not said
	Err  error         // ErrHeldBack, context.DeadlineExceeded, context.Canceled, or what Hosts.Wait returned
}

func (e *WaitError) Error() string {
	if e.Wait > 0 {
		return fmt.Sprintf("httplimit: %s holds requests back for %v more: %v", e.Host, e.Wait, e.Err)
	}
	return fmt.Sprintf("httplimit: waiting for %s: %v", e.Host, e.Err)
}

// Unwrap returns Err.
func (e *WaitError) Unwrap() error { return e.Err }

// Timeout reports whether it was the deadline, so that url.Error, which wraps the
// errors of an http.Client, can.
func (e *WaitError) Timeout() bool { return errors.Is(e.Err, context.DeadlineExceeded) }
