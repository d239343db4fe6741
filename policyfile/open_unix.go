//go:build unix

package policyfile

import "syscall"

// nonblocking keeps the opening of a FIFO, put where a file was just now, from
// waiting for somebody to write to it.
const nonblocking = syscall.O_NONBLOCK
