// Package grpclimit limits gRPC with weir.
package grpclimit
