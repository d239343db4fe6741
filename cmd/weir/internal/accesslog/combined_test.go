package accesslog

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var everyField = []Field{Address, {kind: fieldUser}, {kind: fieldPath}, {fieldHeader, "Referer"}, {fieldHeader, "User-Agent"}, {fieldNamed, "3"}}

func parseText(t testing.TB, p parser, line string, fields int) (int64, []string, error) {
	values := make([][]byte, fields)
	ns, err := p.parse([]byte(line), values)
	texts := make([]string, fields)
	for i, v := range values {
		texts[i] = string(v)
	}
	return ns, texts, err
}

func TestCombinedTakesWhatServersWrite(t *testing.T) {
	p, err := newCombined(everyField)
	require.NoError(t, err)
	at := time.Date(2015, 5, 17, 10, 5, 3, 0, time.UTC).UnixNano()
	for _, test := range []struct {
		line string
		want []string
	}{
		{`83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET /a/b.png?x=1 HTTP/1.1" 200 203023 "http://example.com/" "Mozilla/5.0 (X11)"`,
			[]string{"83.149.9.216", "", "/a/b.png", "http://example.com/", "Mozilla/5.0 (X11)", ""}},
		{`::1 - ann [17/May/2015:12:05:03 +0200] "POST / HTTP/1.0" 304 -`, []string{"::1", "ann", "/", "", "", ""}},
		{`h.example - ann lee [17/May/2015:05:05:03 -0500] "\x16\x03" 400 0 "-" "say \"hi\"" "10.0.0.1, 10.0.0.2"`,
			[]string{"h.example", "ann lee", "", "", `say \"hi\"`, "10.0.0.1, 10.0.0.2"}},
		{`1.2.3.4 - - [17/May/2015:10:05:03 +0000] "" 408 0 "-" "-" 12 0.003`, []string{"1.2.3.4", "", "", "", "", ""}},
		{`1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /old" 200 5`, []string{"1.2.3.4", "", "/old", "", "", ""}},
	} {
		ns, values, err := parseText(t, p, test.line, len(everyField))
		require.NoError(t, err, test.line)
		require.Equal(t, at, ns, test.line)
		require.Equal(t, test.want, values, test.line)
	}
}

func TestCombinedSaysWhatIsWrong(t *testing.T) {
	p, err := newCombined(everyField)
	require.NoError(t, err)
	good := `1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5`
	for _, test := range []struct {
		old, new string
		want     error
	}{
		{good, "", errCommon}, {good, "hello", errCommon}, {"1.2.3.4 ", "", errCommon}, {"[", "(", errCommon},
		{"May", "Mai", errTime}, {"17/", "32/", errTime}, {":10:", ":24:", errTime}, {"+0000", "*0000", errTime}, {"2015", "1969", errTime},
		{`"GET`, `GET`, errTime}, {`1.1"`, `1.1\"`, errRequest}, {"200", "2x0", errStatus}, {"200 5", "200 5x", errStatus}, {"200 5", "200", errStatus},
	} {
		_, _, err := parseText(t, p, strings.Replace(good, test.old, test.new, 1), len(everyField))
		require.Equal(t, test.want, err, "%q for %q", test.new, test.old)
	}
}

func TestCombinedRefusesAKeyThatItsLinesLack(t *testing.T) {
	_, err := newCombined([]Field{{fieldHeader, "X-Api-Key"}})
	require.ErrorContains(t, err, "header:X-Api-Key: a line of the Combined format has header:Referer")
}

// oracle reads a line as slowly as it likes.
var oracle = regexp.MustCompile(`(?s)^([^ ]+) ([^ ]+) ([^\[]+) \[([^\]]{26})\] "((?:[^"\\]|\\.)*)" ([0-9]{3}) ([0-9]+|-)(?: (.*))?$`)

var oracleQuoted = regexp.MustCompile(`(?s)^"((?:[^"\\]|\\.)*)"(?: |$)`)

func oracleParse(line string) (ns int64, values []string, ok bool) {
	m := oracle.FindStringSubmatch(line)
	if m == nil {
		return 0, nil, false
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[4])
	if err != nil {
		return 0, nil, false
	}
	dash := func(s string) string { return strings.TrimPrefix(s, map[bool]string{true: "-"}[s == "-"]) }
	target := ""
	if words := strings.Split(m[5], " "); len(words) > 1 {
		target, _, _ = strings.Cut(words[1], "?")
	}
	values = []string{m[1], dash(m[3]), target, "", "", ""}
	for rest, i := m[8], 3; i < 6; i++ {
		q := oracleQuoted.FindStringSubmatch(rest)
		if q == nil {
			break
		}
		values[i], rest = dash(q[1]), rest[len(q[0]):]
	}
	return at.UnixNano(), values, true
}

func FuzzCombined(f *testing.F) {
	f.Add(`83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET /a?b HTTP/1.1" 200 203023 "http://example.com/" "Mozilla/5.0"`)
	f.Add(`::1 - ann b [29/Feb/2016:23:59:59 -1130] "\x16\"" 400 - "-" "a\\" "x" y`)
	f.Add(`a b c [01/Jan/1970:00:00:00 +0000] "" 100 0`)
	f.Fuzz(func(t *testing.T, line string) {
		p, err := newCombined(everyField)
		require.NoError(t, err)
		ns, values, err := parseText(t, p, line, len(everyField))
		want, wanted, ok := oracleParse(line)
		if err != nil || !ok {
			return
		}
		require.Equal(t, want, ns)
		require.Equal(t, wanted, values)
	})
}

// What the oracle accepts of what servers write, the parser accepts.
func TestCombinedAcceptsWhatTheOracleDoes(t *testing.T) {
	p, err := newCombined(everyField)
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(sampleLog(50)), "\n") {
		ns, values, err := parseText(t, p, line, len(everyField))
		require.NoError(t, err)
		want, wanted, ok := oracleParse(line)
		require.True(t, ok, line)
		require.Equal(t, want, ns)
		require.Equal(t, wanted, values)
	}
}

func TestTheCalendarIsGos(t *testing.T) {
	for day := time.Date(1970, 1, 1, 12, 34, 56, 0, time.UTC); day.Year() <= lastYear; day = day.AddDate(0, 0, 1) {
		ns, ok := parseCommonTime(day.AppendFormat(nil, "02/Jan/2006:15:04:05 -0700"))
		require.True(t, ok, day)
		require.Equal(t, day.UnixNano(), ns, day)
	}
}
