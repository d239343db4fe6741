package grpclimit

import (
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// DeniedError returns the error of an RPC that was denied, with codes.ResourceExhausted
// and as details a google.rpc.RetryInfo, whose retry_delay is d.RetryAfter to the
// nanosecond, and a google.rpc.QuotaFailure with the policy that denied: its name is the
// subject. There is no RetryInfo if no wait would help, and no QuotaFailure without a
// policy. A [Server] does so on its own; return it for decisions made in a handler.
func DeniedError(d weir.Decision) error {
	text := deniedText(d)
	s := status.New(codes.ResourceExhausted, text)
	var details []protoadapt.MessageV1
	if d.RetryAfter > 0 && d.RetryAfter != weir.Never {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(d.RetryAfter)})
	}
	if d.Policy != "" {
		details = append(details, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{
			Subject: strings.ToValidUTF8(d.Policy, "\uFFFD"), Description: text,
		}}})
	}
	if with, err := s.WithDetails(details...); err == nil {
		s = with
	}
	return s.Err()
}

// deniedText is valid UTF-8, without which it would not be sent.
func deniedText(d weir.Decision) string {
	quota := "the quota"
	if d.Policy != "" {
		quota += " " + strconv.Quote(d.Policy)
	}
	switch d.RetryAfter {
	case weir.Never:
		return "more than " + quota + " ever allows"
	case 0:
		return quota + " is used up"
	}
	return quota + " is used up; retry after " + d.RetryAfter.String()
}

// RetryAfter returns how long the sender of an error asks to wait before the RPC is
// tried again: the retry_delay of its google.rpc.RetryInfo, of several the longest. It
// is false for an error without one, or with none that is above 0. It is as long as
// the sender likes.
func RetryAfter(err error) (d time.Duration, ok bool) {
	s, isStatus := status.FromError(err)
	if !isStatus {
		return 0, false
	}
	for _, detail := range s.Details() {
		if info, _ := detail.(*errdetails.RetryInfo); info.GetRetryDelay().IsValid() {
			d = max(d, info.GetRetryDelay().AsDuration())
		}
	}
	return d, d > 0
}
