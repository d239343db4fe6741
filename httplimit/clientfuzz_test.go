package httplimit_test

import (
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

var fuzzTrusted = prefixes("10.0.0.0/8 2001:db8:fe::/48 fe80::/10 127.0.0.1/32 ::1/128")

// fuzzLines splits at line feeds, which no header contains. No text is no header.
func fuzzLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// checkClient compares with the model, and holds the result against what must be true whatever the model
// says: to the right of the client nobody is a stranger, and all can be read.
func checkClient(t *testing.T, remote string, plain, forwarded []string) {
	t.Helper()
	header := http.Header{}
	if plain != nil {
		header["X-Forwarded-For"] = plain
	}
	if forwarded != nil {
		header["Forwarded"] = forwarded
	}
	r := &http.Request{RemoteAddr: remote, Header: header}
	got, ok := httplimit.ClientIP(fuzzTrusted...)(r)
	require.True(t, ok)

	m := model{fuzzTrusted}
	require.Equal(t, m.client(remote, plain, forwarded), got, "%q %q %q", remote, plain, forwarded)

	peer, ok := modelAddress(remote)
	if !ok || !m.trusts(peer) || got == modelPrefix(peer) {
		remoteKey, _ := httplimit.RemoteIP(r)
		require.Equal(t, remoteKey, got)
		return
	}
	reached := func(nodes []string) bool {
		for _, node := range nodes {
			addr, ok := modelAddress(node)
			if !ok {
				return false
			}
			if modelPrefix(addr) == got {
				return true
			}
			if !m.trusts(addr) {
				return false
			}
		}
		return false
	}
	require.True(t, reached(trimmed(modelListOf(plain))) || reached(modelForwarded(forwarded)),
		"%v is left of a stranger: %q %q %q", got, remote, plain, forwarded)
}

func FuzzXForwardedFor(f *testing.F) {
	for _, lines := range []string{
		"", "\n", "198.51.100.7", "203.0.113.9, 198.51.100.7, 10.0.0.2", "203.0.113.9\n198.51.100.7\n10.0.0.2",
		"203.0.113.9,,10.0.0.2", "[2001:db8::1%eth0]:80, [fe80::1%a]:1", "::ffff:1.2.3.4", "unknown, 10.0.0.1:_x", "1.2.3.4%a",
	} {
		f.Add("10.0.0.1:80", lines)
	}
	for _, remote := range []string{"", "@", "[::1]:80", "[::ffff:10.0.0.1%eth0]:80", "192.0.2.1:80", "[fe80::1%\x00]:1"} {
		f.Add(remote, "203.0.113.9, 198.51.100.7")
	}
	f.Fuzz(func(t *testing.T, remote, lines string) { checkClient(t, remote, fuzzLines(lines), nil) })
}

func FuzzForwarded(f *testing.F) {
	for _, lines := range []string{
		"", "\n", "for=198.51.100.7", `for="[2001:db8::1]:80";proto=http, For=10.0.0.2;by="_x"`,
		`for=203.0.113.9;host="a, for=1.1.1.1", for=10.0.0.2`, `for="x, for=198.51.100.7`, "for=\"x\nfor=198.51.100.7",
		`for=1.2.3.4;a="\\\",for=1.1.1.1"`, `;;for=1.2.3.4 ; ;`, "for=1.2.3.4;for=1.2.3.4", "for=, for=10.0.0.2", `"\"`,
		`a="b,c="d",for=10.0.0.2`,
	} {
		f.Add("10.0.0.1:80", "", lines)
		f.Add("10.0.0.1:80", "203.0.113.9, 10.0.0.2", lines)
	}
	f.Fuzz(func(t *testing.T, remote, plain, forwarded string) {
		checkClient(t, remote, fuzzLines(plain), fuzzLines(forwarded))
	})
}

// What a fuzzer finds in hours, words find at once.
func TestClientIPAgreesWithTheModel(t *testing.T) {
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	random := rand.New(rand.NewPCG(seed, 2))
	for range 10_000 {
		checkClient(t, oneOf(random, "10.0.0.1:80", "[::1]:80", "[2001:db8:fe::1%a]:80", "198.51.100.7:1", "@"),
			nastyLines(random, nastyPlain), nastyLines(random, nastyForwarded))
	}
	for range 200 { // where reading ends
		hops := func(words []string, hop string, around int) []string {
			return append(nastyLines(random, words), oneOf(random, "", "203.0.113.9,", "for=203.0.113.9,")+
				strings.Repeat(hop+oneOf(random, ",", ", "), around-random.IntN(8))+hop)
		}
		plain := hops(nastyPlain, oneOf(random, "10.0.0.20", "10.0.0.200"), 410)
		checkClient(t, "10.0.0.1:80", plain, nil)
		forwarded := hops(nastyForwarded, "for=10.0.0.2;by=\""+strings.Repeat("h", 1000+random.IntN(20))+"\"", 10)
		checkClient(t, "10.0.0.1:80", nil, forwarded)
		checkClient(t, "10.0.0.1:80", strings.Split(strings.Join(plain, ","), ","), nil)
	}
}

func oneOf[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

var nastyPlain = []string{
	",", ",", ", ", " ", "\t", "\n", "203.0.113.9", "198.51.100.7", "10.0.0.2", "10.0.0.3", "[2001:db8::1]:80", "2001:db8:fe::1", "fe80::1%eth0",
	"::ffff:10.0.0.4", "::ffff:203.0.113.9", "unknown", "_hidden", ":80", ":", "%", "[", "]", `"`, "1", ".",
}

var nastyForwarded = []string{
	",", ",", ", ", ";", "; ", " ", "\n", `"`, `"`, `\`, `\"`, "for=", "for=203.0.113.9", "For=198.51.100.7", "FOR=10.0.0.2", `for="10.0.0.3"`,
	`for="[2001:db8:fe::1]:_p"`, `for="[2001:db8::1]"`, "by=10.0.0.2", "host=", `host="a, b"`, `proto="`, "=", "for", "unknown", "for=_hidden", "x",
}

// nastyLines are none in one of four cases.
func nastyLines(random *rand.Rand, words []string) []string {
	if random.IntN(4) == 0 {
		return nil
	}
	var b strings.Builder
	for range random.IntN(12) {
		b.WriteString(oneOf(random, words...))
	}
	return strings.Split(b.String(), "\n")
}

// proxy passes a request on as proxies do, adding to what came, and says who sent it.
func proxy(random *rand.Rand, header http.Header, sender netip.Addr, plain, forwarded bool) {
	add := func(name, element string) {
		lines := header[name]
		switch random.IntN(3) {
		case 0: // a line of its own
			header[name] = append(slices.Clone(lines), element)
		case 1: // at the end of the last line
			if len(lines) > 0 {
				header[name] = append(slices.Clone(lines[:len(lines)-1]), lines[len(lines)-1]+", "+element)
				return
			}
			header[name] = []string{element}
		default: // all lines joined
			header[name] = []string{strings.Join(append(slices.Clone(lines), element), ",")}
		}
	}
	if plain {
		add("X-Forwarded-For", oneOf(random, sender.String(), netip.AddrPortFrom(sender, 80).String()))
	}
	if forwarded {
		node := oneOf(random, `for="`+netip.AddrPortFrom(sender, 80).String()+`"`, `For=`+sender.String())
		if sender.Is6() {
			node = `for="[` + sender.String() + `]"`
		}
		add("Forwarded", oneOf(random, "", "by=_me;", `host="a, for=192.0.2.66;b=\"";`)+node+oneOf(random, "", ";proto=http", `;x=", for=\"192.0.2.66\""`))
	}
}

// Whatever a client sends, behind proxies that all write one header, be it which of the two, it has
// its own key or the one of the proxy next to the server; and its own, if that header is named or it sends
// nothing of the other.
func TestNobodyChoosesAKey(t *testing.T) {
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	random := rand.New(rand.NewPCG(seed, 2))
	either := httplimit.ClientIP(fuzzTrusted...)
	for range 10_000 {
		written, other := "X-Forwarded-For", "Forwarded"
		if random.IntN(2) == 0 {
			written, other = other, written
		}
		header := http.Header{}
		if lines := nastyLines(random, nastyPlain); lines != nil {
			header["X-Forwarded-For"] = lines
		}
		if lines := nastyLines(random, nastyForwarded); lines != nil {
			header["Forwarded"] = lines
		}
		forgedOther := len(header[other]) > 0

		client := oneOf(random, netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("2001:db8:1::7"))
		sender := client
		for range 1 + random.IntN(3) {
			plain := written == "X-Forwarded-For" || random.IntN(3) == 0
			forwarded := written == "Forwarded" || random.IntN(3) == 0
			proxy(random, header, sender, plain, forwarded)
			sender = oneOf(random, netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3"), netip.MustParseAddr("2001:db8:fe::1"))
		}
		r := &http.Request{RemoteAddr: netip.AddrPortFrom(sender, 80).String(), Header: header}

		key, _ := httplimit.AddressKey{Trusted: fuzzTrusted, Header: written}.Func()(r)
		require.Equal(t, modelPrefix(client), key, "%q", header)

		key, _ = either(r)
		if !forgedOther || key != modelPrefix(sender) {
			require.Equal(t, modelPrefix(client), key, "%q", header)
		}
	}
}
