package redislimit_test

import (
	"context"
	"strconv"
	"sync"

	"github.com/goweir/weir/redislimit"
)

// A fakeStore has so many tokens for all its clients together, and never more. It does
// not know token buckets.
type fakeStore struct {
	before func(ctx context.Context, verb string) error // an error: nothing was done

	mu             sync.Mutex
	left           int
	taken, refunds int
}

func (s *fakeStore) Call(ctx context.Context, _ *redislimit.Library, _, args []string) (redislimit.Reply, error) {
	if args[0] == "" { // the policy's text
		return redislimit.Reply{Numbers: []int64{1}}, nil
	}
	verb := args[3]
	if s.before != nil {
		if err := s.before(ctx, verb); err != nil {
			return redislimit.Reply{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := strconv.Atoi(args[1])
	want, _ := strconv.Atoi(args[4])
	switch {
	case verb == "refund":
		s.refunds += n
		s.left += n
		return redislimit.Reply{Numbers: []int64{1}}, nil
	case n > s.left:
		return redislimit.Reply{Numbers: []int64{0, int64(s.left), 3600e6, 1, 3600e6, 0}}, nil
	case verb == "peek":
		return redislimit.Reply{Numbers: []int64{1, int64(s.left - n), 0, 1, 3600e6, 0}}, nil
	}
	n = min(max(n, want), s.left)
	s.left -= n
	s.taken += n
	return redislimit.Reply{Numbers: []int64{1, int64(s.left), 0, 1, 3600e6, int64(n)}}, nil
}
