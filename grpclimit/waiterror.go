package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// ErrHeldBack is why an RPC is not sent that a server holds back for longer than MaxWait
// of the [Client].
var ErrHeldBack = errors.New("grpclimit: held back for longer than MaxWait")

// A WaitError is why a [Client] did not send an RPC. Nothing of it has reached the
// server.
type WaitError struct {
	Key  string        // by default the target
	Wait time.Duration // how long the server holds RPCs back yet; 0 if it does not
	Err  error         // ErrHeldBack, context.DeadlineExceeded, context.Canceled, or what Limit.Wait returned
}

func (e *WaitError) Error() string {
	if e.Wait > 0 {
		return fmt.Sprintf("grpclimit: %s holds RPCs back for %v more: %v", e.Key, e.Wait, e.Err)
	}
	return fmt.Sprintf("grpclimit: waiting for %s: %v", e.Key, e.Err)
}

// Unwrap returns Err.
func (e *WaitError) Unwrap() error { return e.Err }

// GRPCStatus returns what status.Code and its like make of it: codes.DeadlineExceeded,
// codes.Canceled, or codes.ResourceExhausted, with Wait in a google.rpc.RetryInfo, where
// RetryAfter finds it.
func (e *WaitError) GRPCStatus() *status.Status {
	code := codes.ResourceExhausted
	switch {
	case errors.Is(e.Err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(e.Err, context.Canceled):
		code = codes.Canceled
	}
	s := status.New(code, e.Error())
	if e.Wait > 0 {
		if with, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.Wait)}); err == nil {
			return with
		}
	}
	return s
}
