package grpclimit_test

import (
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// connect serves on loopback and returns a client of the health service there.
func connect(server *grpc.Server, opts ...grpc.DialOption) (client healthpb.HealthClient, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- server.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		log.Fatal(err)
	}
	return healthpb.NewHealthClient(conn), func() {
		conn.Close()
		server.Stop()
		if err := <-done; err != nil {
			log.Fatal(err)
		}
	}
}
