// Package traffic makes the keys that benchmarks ask for.
package traffic

// KeyLen is the length of every key, about that of an address or an API key.
const KeyLen = 16

// Key returns the key of client i. Neighbours have nothing in common.
func Key(i uint64) string { return string(appendKey(nil, i)) }

func appendKey(b []byte, i uint64) []byte {
	const digits = "0123456789abcdef"
	i = mix(i)
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, digits[i>>shift&15])
	}
	return b
}

// mix is MurmurHash3's finalizer: one to one, so that no two clients have the
// same key.
func mix(i uint64) uint64 {
	i ^= i >> 33
	i *= 0xff51afd7ed558ccd
	i ^= i >> 33
	i *= 0xc4ceb9fe1a85ec53
	i ^= i >> 33
	return i
}
