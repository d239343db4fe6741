// Package plan looks for the smallest limit that denies only as many as one can
// accept, by trying limits on the requests of a log.
package plan
