//go:build !unix

package policyfile

// nonblocking is for systems on which opening a file may wait for somebody else.
const nonblocking = 0
