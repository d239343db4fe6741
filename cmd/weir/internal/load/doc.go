// Package load asks a server as often as one says, politely, and checks what it
// admits against the quotas that it advertises.
package load
