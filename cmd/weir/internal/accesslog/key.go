package accesslog

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"net/netip"
	"strings"
	"unsafe"
)

// A Key says who asked. It is exact for an address: IPv4 by itself, IPv6 by its
// /64. Any other text is known by 62 bits of its hash, which two of n texts share
// with probability n^2 / 2^63.
//
//	IPv4  00000000 00000001 and the address
//	IPv6  its first 64 bits, as long as those do not begin with 10, which is unassigned
//	text  10 and the hash
type Key uint64

const (
	// None is the key of a line that does not say.
	None Key = 0

	ipv4Mark  = 1 << 32
	unnamedV6 = 1 // ::/64, whose 64 bits would be None's
	textMark  = 2 << 62
	markBits  = 3 << 62
)

// addressKey returns the key of an address as it is logged. What is not one, a
// host's name, is a text.
func (h *hasher) addressKey(text []byte) Key {
	if v4, ok := parseIPv4(text); ok {
		return ipv4Mark | Key(v4)
	}
	if 1 < len(text) && len(text) <= maxAddress && bytes.IndexByte(text, ':') >= 0 {
		s := unsafe.String(&text[0], len(text)) // netip keeps nothing of it but in an error, and there clones zones
		if a, err := netip.ParseAddr(s); err == nil {
			return keyOf(a)
		}
		if a, err := netip.ParseAddrPort(s); err == nil {
			return keyOf(a.Addr())
		}
	}
	return h.textKey(0, text)
}

// maxAddress is the length of the longest address without a zone, in brackets and with a port.
const maxAddress = len("[0000:0000:0000:0000:0000:ffff:255.255.255.255]:65535")

func keyOf(a netip.Addr) Key {
	a = a.Unmap()
	if a.Is4() {
		b := a.As4()
		return ipv4Mark | Key(b[0])<<24 | Key(b[1])<<16 | Key(b[2])<<8 | Key(b[3])
	}
	b := a.As16()
	key := Key(0)
	for _, x := range b[:8] {
		key = key<<8 | Key(x)
	}
	switch {
	case key == None:
		return unnamedV6
	case key&markBits == textMark:
		return key ^ 1<<62 // an unassigned address: still a key, of another one
	}
	return key
}

// parseIPv4 reads what netip.ParseAddr would, only faster.
func parseIPv4(text []byte) (v4 uint32, ok bool) {
	if len(text) < len("0.0.0.0") || len(text) > len("255.255.255.255") {
		return 0, false
	}
	octet, digits, dots := uint32(0), 0, 0
	for _, c := range text {
		switch {
		case '0' <= c && c <= '9':
			if digits > 0 && octet == 0 {
				return 0, false // a leading zero: some read it as octal
			}
			octet = octet*10 + uint32(c-'0')
			if digits++; octet > 255 {
				return 0, false
			}
		case c == '.' && digits > 0 && dots < 3:
			v4, octet, digits = v4<<8|octet, 0, 0
			dots++
		default:
			return 0, false
		}
	}
	return v4<<8 | octet, dots == 3 && digits > 0
}

// A hasher makes keys of texts, different ones for the same text in two fields.
type hasher struct{ seed maphash.Seed }

func (h *hasher) textKey(field int, text []byte) Key {
	if len(text) == 0 {
		return None
	}
	hash := maphash.Bytes(h.seed, text) + uint64(field)*0x9e3779b97f4a7c15
	return textMark | Key(hash>>2)
}

// isText reports whether a key is that of a text, which has to be kept to be shown.
func (k Key) isText() bool { return k&markBits == textMark }

// address returns the address of a key, or the /64, and "" of any other.
func (k Key) address() string {
	switch {
	case k == None || k.isText():
		return ""
	case k>>32 == 1:
		return netip.AddrFrom4([4]byte{byte(k >> 24), byte(k >> 16), byte(k >> 8), byte(k)}).String()
	case k == unnamedV6:
		k = 0
	}
	var b [16]byte
	for i := range 8 {
		b[i] = byte(k >> (56 - 8*i))
	}
	return netip.PrefixFrom(netip.AddrFrom16(b), 64).String()
}

// A Field is the part of a line that is a key.
type Field struct {
	kind fieldKind
	name string // of a header or a column
}

type fieldKind uint8

const (
	fieldAddress fieldKind = iota + 1
	fieldUser
	fieldPath
	fieldHeader
	fieldNamed
)

// Address is the field that tells clients apart unless something else is asked for.
var Address = Field{kind: fieldAddress}

// ParseField reads "address", "user", "path", "header:NAME" or "field:NAME".
func ParseField(text string) (Field, error) {
	kind, name, named := strings.Cut(text, ":")
	switch {
	case text == "address":
		return Address, nil
	case text == "user":
		return Field{kind: fieldUser}, nil
	case text == "path":
		return Field{kind: fieldPath}, nil
	case kind == "header" && named && name != "":
		return Field{fieldHeader, name}, nil
	case kind == "field" && named && name != "":
		return Field{fieldNamed, name}, nil
	}
	return Field{}, fmt.Errorf("key %q: it is one of address, user, path, header:NAME, field:NAME", text)
}

// String returns what ParseField reads.
func (f Field) String() string {
	switch f.kind {
	case fieldAddress:
		return "address"
	case fieldUser:
		return "user"
	case fieldPath:
		return "path"
	case fieldHeader:
		return "header:" + f.name
	case fieldNamed:
		return "field:" + f.name
	}
	return ""
}
