package grpclimit

import (
	"context"
	"net"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// A Call is an RPC as the layers of a [Server] see it: what a key and a cost are
// taken from. It is theirs while they are asked, and must not be kept or changed.
type Call struct {
	// Context is the RPC's, with its deadline, peer and incoming metadata.
	Context context.Context

	// FullMethod is "/package.Service/Method".
	FullMethod string

	// Message is the request of a unary RPC, and in [Messages] the message of a stream.
	// It is nil where a stream is opened.
	Message any
}

// Peer returns the address at the other end of the connection, or nil if there is
// none.
func (c *Call) Peer() net.Addr {
	if p, ok := peer.FromContext(c.Context); ok {
		return p.Addr
	}
	return nil
}

// Metadata returns what the client has sent under a name, in its order, or nil. No
// difference is made between upper and lower case.
func (c *Call) Metadata(name string) []string {
	return metadata.ValueFromIncomingContext(c.Context, name)
}
