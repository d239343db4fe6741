package debuglimit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"
)

// Keys says how the clients of a PerClient are written and read. Both functions may be
// called by several goroutines at once.
type Keys[K comparable] struct {
	// Format writes a client that is denied often. With nil none is shown.
	Format func(K) string
	// Parse reads what somebody types to look for a client. With nil nobody can.
	Parse func(string) (K, error)
}

// Strings writes and reads keys that are strings.
func Strings() Keys[string] {
	return Keys[string]{
		Format: func(key string) string { return key },
		Parse:  func(text string) (string, error) { return text, nil },
	}
}

// Prefixes writes and reads the keys of httplimit.RemoteIP and ClientIP: an IPv4 address,
// or the /64 of an IPv6 address.
func Prefixes() Keys[netip.Prefix] { return Keys[netip.Prefix]{formatPrefix, parsePrefix} }

// noAddress is the key of those who have none.
const noAddress = "unknown"

func formatPrefix(p netip.Prefix) string {
	switch {
	case !p.IsValid():
		return noAddress
	case p.IsSingleIP() && p.Addr().Is4(): // an IPv6 address would be read as its /64
		return p.Addr().String()
	}
	return p.String()
}

func parsePrefix(text string) (netip.Prefix, error) {
	if text == noAddress {
		return netip.Prefix{}, nil
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, errors.New("not an IP address, as 192.0.2.7, 2001:db8::1 and 2001:db8::/64 are")
	}
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	return addr.Prefix(bits)
}

// Hashed writes clients as pseudonyms instead: the same one for the same client as long
// as the Keys are in use. Addresses and names are personal data, which nobody needs
// to see to see a flood. It panics if there is no Format.
func (k Keys[K]) Hashed() Keys[K] {
	if k.Format == nil {
		panic("debuglimit: Hashed of Keys without a Format: it hashes what that writes")
	}
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // never fails
	format := k.Format
	k.Format = func(key K) string {
		mac := hmac.New(sha256.New, secret)
		_, _ = mac.Write([]byte(format(key)))
		return "#" + hex.EncodeToString(mac.Sum(nil)[:6])
	}
	return k
}
