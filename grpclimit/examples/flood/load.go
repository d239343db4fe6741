package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A user is what one has asked for, and how that ended.
type user struct {
	name           string
	connections    int
	limit          *grpclimit.Client // nil: it does not care
	uploads        bool
	mu             sync.Mutex
	served, denied int // RPCs
	messages       int
}

func newUsers() []*user {
	pace := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(10).WithBurst(1)))
	return []*user{
		{name: "steady", connections: 2, limit: &grpclimit.Client{Limit: pace}},
		{name: "flood", connections: 8},
		{name: "obedient", connections: 4, limit: &grpclimit.Client{}},
		{name: "uploader", connections: 4, uploads: true},
	}
}

// drive has all users send for some time, each by its connections at once. What is under way
// then is waited for, so that the counters can agree.
func drive(ctx context.Context, addr string, length time.Duration) ([]*user, error) {
	users, end := newUsers(), time.Now().Add(length)
	var all sync.WaitGroup
	errs := make(chan error, 100)
	for _, u := range users {
		for range u.connections {
			all.Go(func() { errs <- u.send(ctx, addr, length, end) })
		}
	}
	all.Wait()
	close(errs)
	var err error
	for e := range errs {
		err = errors.Join(err, e)
	}
	return users, err
}

func (u *user) send(ctx context.Context, addr string, length time.Duration, end time.Time) error {
	opts := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if u.limit != nil {
		opts = append(opts, u.limit.DialOptions()...)
	}
	cc, err := grpc.NewClient(addr, opts...)
	if err != nil {
		return err
	}
	defer cc.Close()
	ctx = metadata.AppendToOutgoingContext(ctx, "user", u.name)
	if u.uploads {
		return u.upload(ctx, cc, int(100*length.Seconds())/u.connections)
	}
	for time.Now().Before(end) {
		if err := u.greet(ctx, cc); err != nil {
			return err
		}
	}
	return nil
}

func (u *user) greet(ctx context.Context, cc *grpc.ClientConn) error {
	err := cc.Invoke(ctx, methodGreet, wrapperspb.String(u.name), new(wrapperspb.StringValue))
	u.mu.Lock()
	defer u.mu.Unlock()
	switch status.Code(err) {
	case codes.OK:
		u.served++
	case codes.ResourceExhausted:
		u.denied++
	default:
		return err
	}
	return nil
}

// upload sends so many messages as fast as they are read.
func (u *user) upload(ctx context.Context, cc *grpc.ClientConn, n int) error {
	s, err := cc.NewStream(ctx, &upload, methodUpload)
	if err != nil {
		return err
	}
	for range n {
		if err := s.SendMsg(wrapperspb.String("a part")); err != nil {
			break // why, RecvMsg says
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	came := new(wrapperspb.Int64Value)
	if err := s.RecvMsg(came); err != nil {
		return err
	}
	if int(came.Value) != n {
		return fmt.Errorf("of %d messages of an upload %d came", n, came.Value)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.served++
	u.messages += n
	return nil
}
