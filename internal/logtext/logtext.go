// Package logtext writes what clients send, and who they are, for a log.
package logtext

import (
	"net/netip"
	"unicode/utf8"
)

// Prefix writes a single address as that, and the zero Prefix as unknown.
func Prefix(p netip.Prefix) string {
	switch {
	case !p.IsValid():
		return "unknown"
	case p.IsSingleIP():
		return p.Addr().String()
	}
	return p.String()
}

// Shorten cuts a string to most bytes and three dots, but no character of it.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "..."
}
