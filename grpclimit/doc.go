// Package grpclimit limits gRPC with weir: on the server's side, where one line puts all
// RPCs, unary and streams, behind limits,
//
//	limit := grpclimit.Limit(grpclimit.PerPeer(weir.TokenBucket(weir.PerSecond(10).WithBurst(20))))
//	server := grpc.NewServer(limit...)
//
// and on the client's, where a [Client] waits its turn and does what servers ask for.
//
// # Whose an RPC is
//
// A layer limits all RPCs together, or those of one client, method or value of metadata
// each: [Global], [PerPeer], [PerClientIP], [PerMetadata], [PerMethod]. These make
// limiters of their own; with weir.By and one of the keys, [Peer], [Address], [Metadata]
// or [Method], the limiter is yours, and so are its Stats and SetPolicy. A key of your own
// is a function of a [Call]; where it returns false the layer does not apply. All layers
// of a [Server] are charged for an RPC, or none.
//
// No metadata is believed that somebody could have forged: what proxies write is read
// from the right, and only from proxies that are trusted. A layer keyed by something that
// clients may leave out or invent is walked around by doing so; put one by address beside
// it.
//
// # What clients are told
//
// An RPC that is denied does not reach its handler. It ends with codes.ResourceExhausted,
// a google.rpc.RetryInfo, whose delay is exact, and a google.rpc.QuotaFailure, which
// names the policy; see [DeniedError] and, for clients, [RetryAfter]. Nothing in it tells
// of other clients. Handlers have the Decision in [FromContext].
//
// # Streams
//
// A stream is one RPC, decided about when it is opened. With Server.Receive and Send its
// [Messages] are limited too: each takes one, or what it costs, and ends the stream or
// waits its turn.
//
// # What is not an RPC
//
// The request of a unary RPC is read before any interceptor is called: grpc.MaxRecvMsgSize
// bounds it. [httplimit.Listener] refuses connections before a byte is read from them, and
// grpc.MaxConcurrentStreams bounds what one connection has under way. What does not exist
// is answered by grpc.Server before any interceptor, unless there is a
// grpc.UnknownServiceHandler.
//
// [httplimit.Listener]: https://pkg.go.dev/github.com/goweir/weir/httplimit#Listener
package grpclimit
