package accesslog

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestJSONTakesWhatServersWrite(t *testing.T) {
	at := time.Date(2022, 3, 9, 21, 30, 1, 500_000_000, time.UTC).UnixNano()
	fields := []Field{Address, {kind: fieldPath}, {fieldHeader, "User-Agent"}, {fieldNamed, "tenant.id"}}
	p := newJSONLines(fields, nil)
	for _, line := range []string{
		`{"ts":1646861401.5,"request":{"remote_ip":"127.0.0.1","uri":"/a?b=1","headers":{"User-Agent":["curl","other"]}},"tenant":{"id":7}}`,
		`{"time":"2022-03-09T21:30:01.5Z","remote_addr":"127.0.0.1","path":"/a","http_user_agent":"curl","tenant":{"x":[{"id":1}],"id":"7"}}`,
		` { "Timestamp" : 1646861401500 , "ip":"127.0.0.1", "client":"9.9.9.9", "url":"\/a", "user-agent":"curl", "tenant.id": 7, "n":null} `,
	} {
		ns, values, err := parseText(t, p, line, len(fields))
		require.NoError(t, err, line)
		require.Equal(t, at, ns, line)
		require.Equal(t, []string{"127.0.0.1", "/a", "curl", "7"}, values, line)
	}
}

func TestJSONSaysWhatIsWrong(t *testing.T) {
	p := newJSONLines([]Field{Address}, nil)
	for line, want := range map[string]error{
		`{`: errJSON, `[]`: errJSON, `{"time":}`: errJSON, `{"time":1} x`: errJSON, `{"a":"b}`: errJSON, "{\"a\":\x00}": errJSON,
		`{"time":01}`: errJSON, `{"a":1,}`: errJSON, `{"a":1}`: errUnnamed, `{"time":"yesterday"}`: errTime, `{"time":17}`: errTime,
	} {
		_, _, err := parseText(t, p, line, 1)
		require.Equal(t, want, err, line)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"time":1646861401,"ip":"1.2.3.4","user":"a\u0041"}`)
	f.Add(`{"time":1646861401,"a":[1,{"b":null}],"ip":"::1"}`)
	f.Fuzz(func(t *testing.T, line string) {
		p := newJSONLines([]Field{Address, {kind: fieldUser}}, Names{"time": "time", "address": "ip", "user": "user"})
		_, values, err := parseText(t, p, line, 2)
		var members map[string]any
		if err != nil || !utf8.ValidString(line) || json.Unmarshal([]byte(line), &members) != nil || len(members) != 3 {
			return
		}
		for i, name := range []string{"ip", "user"} {
			if text, ok := members[name].(string); ok && text != "-" && strings.Count(strings.ToLower(line), `"`+name+`"`) == 1 {
				require.Equal(t, text, values[i], name)
			}
		}
	})
}

func TestCSVTakesWhatSpreadsheetsWrite(t *testing.T) {
	fields := []Field{Address, {kind: fieldUser}}
	for header, line := range map[string]string{
		"time,ip,user": `2022-03-09 21:30:01,127.0.0.1,"a ""b"", c"`,
		"\ufeff\"Time\";\"x\";\"user\";\"client_ip\"": `1646861401;"a;b";"a ""b"", c";127.0.0.1`,
		"user\tip\ttime": "a \"b\", c\t127.0.0.1\t2022-03-09T21:30:01Z\tmore",
	} {
		p, err := newCSVLines([]byte(header), fields, nil)
		require.NoError(t, err, header)
		ns, values, err := parseText(t, p, line, 2)
		require.NoError(t, err, line)
		require.Equal(t, time.Date(2022, 3, 9, 21, 30, 1, 0, time.UTC).UnixNano(), ns, line)
		require.Equal(t, []string{"127.0.0.1", `a "b", c`}, values, line)
	}
}

func TestCSVSaysWhatIsWrong(t *testing.T) {
	_, err := newCSVLines([]byte("a,b"), []Field{Address}, nil)
	require.ErrorContains(t, err, "no column is a time")
	_, err = newCSVLines([]byte("time,b"), []Field{Address}, nil)
	require.ErrorContains(t, err, "no column is the address")
	p, err := newCSVLines([]byte("time,ip"), []Field{Address}, nil)
	require.NoError(t, err)
	for line, want := range map[string]error{"1646861401": errColumns, `"1646861401,1`: errQuotes, `"1"2,3`: errQuotes, "x,1": errTime, ",1": errTime} {
		_, _, err := parseText(t, p, line, 1)
		require.Equal(t, want, err, line)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("time,ip,user", `1646861401,1.2.3.4,"a"`)
	f.Add("time;ip;user", `"16468""61401;1.2.3.4;`)
	f.Fuzz(func(t *testing.T, header, line string) {
		p, err := newCSVLines([]byte(header), []Field{Address, {kind: fieldUser}}, nil)
		if err == nil {
			parseText(t, p, line, 2)
		}
	})
}

func TestTimesAreReadAsTheyAreWritten(t *testing.T) {
	want := time.Date(2022, 3, 9, 21, 30, 1, 123_456_789, time.UTC)
	for text, precision := range map[string]time.Duration{
		"2022-03-09T21:30:01.123456789Z": 1, "2022-03-09T22:30:01.123456789+01:00": 1, "2022-03-09 21:30:01.123456": time.Microsecond,
		"2022-03-09T21:30:01": time.Second, "2022-03-09T22:30:01+0100": time.Second, "09/Mar/2022:21:30:01 +0000": time.Second,
		"1646861401": time.Second, "1646861401.123456789": 1, "1646861401123": time.Millisecond, "1646861401123.456789": 1,
		"1646861401123456": time.Microsecond, "1646861401123456789": 1,
	} {
		ns, ok := parseTime([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, want.Truncate(precision).UnixNano(), ns, text)
	}
	for _, text := range []string{"", "now", "12", "-1646861401", "1646861401.", "1646861401.x", "2022-13-09T21:30:01Z", "9999-01-01T00:00:00Z", "99999999999999999999"} {
		_, ok := parseTime([]byte(text))
		require.Equal(t, text == "1646861401.", ok, text)
	}
}

func TestAddressesAreKeysThatCanBeRead(t *testing.T) {
	h := newTexts().hasher
	l := &Log{}
	for text, want := range map[string]string{
		"1.2.3.4": "1.2.3.4", "255.255.255.255": "255.255.255.255", "0.0.0.0": "0.0.0.0", "1.2.3.4:5678": "1.2.3.4",
		"::ffff:1.2.3.4": "1.2.3.4", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "[2001:db8:1:2::4]:80": "2001:db8:1:2::/64",
		"fe80::1%eth0": "fe80::/64", "::1": "::/64", "ffff::": "ffff::/64",
	} {
		k := h.addressKey([]byte(text))
		require.False(t, k.isText(), text)
		require.Equal(t, want, l.Text(k), text)
	}
	for _, text := range []string{"1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1..2.3", "host.example", "-"} {
		k := h.addressKey([]byte(text))
		require.True(t, k.isText(), text)
	}
}

func FuzzAddress(f *testing.F) {
	f.Add("1.2.3.4")
	f.Add("2001:db8::1")
	f.Fuzz(func(t *testing.T, text string) {
		h := newTexts().hasher
		k := h.addressKey([]byte(text))
		a, err := netip.ParseAddr(text)
		switch {
		case err == nil && len(text) <= maxAddress:
			require.Equal(t, keyOf(a), k)
			require.False(t, k.isText())
		case err != nil && k.address() != "":
			_, err := netip.ParseAddrPort(text)
			require.NoError(t, err, "taken for an address")
		}
	})
}
