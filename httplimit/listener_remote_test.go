package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// remoteLayer is a layer that is decided by take alone.
func remoteLayer(take func(context.Context) (weir.Decision, error)) weir.Layer[net.Addr] {
	ask := func(ctx context.Context, _ net.Addr, _ int) (weir.Decision, error) { return take(ctx) }
	refund := func(context.Context, net.Addr, int) error { return nil }
	return weir.ByRemote(weir.Remote[net.Addr]{Take: ask, Peek: ask, Refund: refund}, func(a net.Addr) (net.Addr, bool) { return a, true })
}

func TestListenerAcceptsWhenARemoteLayerFails(t *testing.T) {
	t.Parallel()
	down := errors.New("the store is down")
	layers := weir.NewLayers(remoteLayer(func(context.Context) (weir.Decision, error) { return weir.Decision{}, down }))
	one := &halfClosing{}
	l := httplimit.Listener(newScripted(one), layers, httplimit.WithTooManyRequests())
	conn, err := l.Accept()
	require.NoError(t, err)
	require.Same(t, one, conn)
	require.Empty(t, one.done(), "it is not answered")
}

func TestNestedListenersRefuseLocallyWhenTheStoreIsDown(t *testing.T) {
	t.Parallel()
	down := remoteLayer(func(context.Context) (weir.Decision, error) { return weir.Decision{}, errors.New("the store is down") })
	local, _ := connectionsPerAddress(1)
	one, _ := pipe("192.0.2.1:1")
	again, _ := pipe("192.0.2.1:2")
	other, _ := pipe("192.0.2.2:1")
	l := httplimit.Listener(httplimit.Listener(newScripted(one, again, other), local), weir.NewLayers(down))
	for _, want := range []net.Conn{one, other} {
		conn, err := l.Accept()
		require.NoError(t, err)
		require.Equal(t, want, conn)
	}
}

func TestListenerRefusesWhatARemoteLayerDenies(t *testing.T) {
	t.Parallel()
	layers := weir.NewLayers(remoteLayer(func(context.Context) (weir.Decision, error) { return weir.Decision{RetryAfter: time.Hour}, nil }))
	one, client := pipe("192.0.2.1:1")
	l := httplimit.Listener(newScripted(one, net.ErrClosed), layers, httplimit.WithOnError(func(net.Addr, error) bool {
		t.Error("a denial is no error")
		return true
	}))
	_, err := l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = client.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestListenerAsksWhatToDoOnAnError(t *testing.T) {
	t.Parallel()
	down := errors.New("the store is down")
	layers := weir.NewLayers(remoteLayer(func(context.Context) (weir.Decision, error) { return weir.Decision{}, down }))
	one, refused := pipe("192.0.2.1:1")
	two, _ := pipe("192.0.2.2:1")
	asked := 0
	l := httplimit.Listener(newScripted(one, two), layers, httplimit.WithOnError(func(addr net.Addr, err error) bool {
		asked++
		require.ErrorIs(t, err, down)
		return addr.String() == "192.0.2.2:1"
	}))
	conn, err := l.Accept()
	require.NoError(t, err)
	require.Equal(t, two, conn)
	require.Equal(t, 2, asked)
	_, err = refused.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestListenerWaitsForARemoteLayerOnlySoLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		layers := weir.NewLayers(remoteLayer(func(ctx context.Context) (weir.Decision, error) {
			<-ctx.Done()
			return weir.Decision{}, ctx.Err()
		}))
		one, _ := pipe("192.0.2.1:1")
		l := httplimit.Listener(newScripted(one), layers, httplimit.WithOnError(func(_ net.Addr, err error) bool {
			return errors.Is(err, context.DeadlineExceeded)
		}))
		began := time.Now()
		conn, err := l.Accept()
		require.NoError(t, err)
		require.Equal(t, one, conn)
		require.Equal(t, 100*time.Millisecond, time.Since(began))
	})
}

// However busy the machine is in between, and however long the other layers take.
func TestARemoteLayerHasItsTimeForItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, clients := connectionsPerAddress(1)
		slow := weir.By(clients, func(a net.Addr) (netip.Prefix, bool) {
			time.Sleep(time.Second)
			return httplimit.AddrIP(a)
		})
		var asked context.Context
		remote := remoteLayer(func(ctx context.Context) (weir.Decision, error) {
			asked = ctx
			if err := ctx.Err(); err != nil {
				return weir.Decision{}, err
			}
			began := time.Now()
			until, ok := ctx.Deadline()
			require.True(t, ok)
			require.Equal(t, 100*time.Millisecond, until.Sub(began))
			time.Sleep(99 * time.Millisecond)
			return weir.Decision{Allowed: true}, ctx.Err()
		})
		one, _ := pipe("192.0.2.1:1")
		l := httplimit.Listener(newScripted(one), weir.NewLayers(slow, remote), httplimit.WithOnError(func(_ net.Addr, err error) bool {
			t.Error(err)
			return true
		}))
		conn, err := l.Accept()
		require.NoError(t, err)
		require.Equal(t, one, conn)
		require.ErrorIs(t, asked.Err(), context.Canceled, "it is over")
	})
}

func TestListenerClosesWhileARemoteLayerIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{})
		layers := weir.NewLayers(remoteLayer(func(ctx context.Context) (weir.Decision, error) {
			close(asked)
			<-ctx.Done()
			return weir.Decision{}, ctx.Err()
		}))
		one, client := pipe("192.0.2.1:1")
		l := httplimit.Listener(newScripted(one), layers, httplimit.WithOnError(func(net.Addr, error) bool {
			t.Error("Close is no error of a layer")
			return true
		}))
		began := time.Now()
		go func() {
			<-asked
			_ = l.Close()
		}()
		_, err := l.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
		require.Zero(t, time.Since(began))
		_, err = client.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	})
}
