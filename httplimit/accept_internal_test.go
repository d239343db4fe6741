package httplimit

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAWeightIsAsTheGrammarSays compares with RFC 9110, section 12.4.2, for all
// strings of a few bytes.
func TestAWeightIsAsTheGrammarSays(t *testing.T) {
	qvalue := regexp.MustCompile(`^(0(\.[0-9]{0,3})?|1(\.0{0,3})?)$`)
	var check func(s string)
	check = func(s string) {
		want := 0
		if qvalue.MatchString(s) {
			f, err := strconv.ParseFloat(s, 64)
			require.NoError(t, err)
			want = int(1000*f + 0.5)
		}
		q, ok := parseQ(s)
		require.Equal(t, qvalue.MatchString(s), ok, s)
		if ok {
			require.Equal(t, want, q, s)
		}
		if len(s) < 6 {
			for _, c := range "0129./:" {
				check(s + string(c))
			}
		}
	}
	check("")
}

// TestAWeightThatIsNotSaidIsOne: it ties with one that is, and JSON wins a tie.
func TestAWeightThatIsNotSaidIsOne(t *testing.T) {
	for accept, want := range map[string]bool{
		"text/plain, application/json;q=1":           false,
		"text/plain;q=1, application/json":           false,
		"text/plain, application/json;q=0.999":       true,
		"text/plain;q=0.999, application/json":       false,
		"text/plain;a=b;q=0.1, */*;q=0.2":            false,
		"text/plain;a=b;q=0.3;c, */*;q=0.2":          true,
		"text/plain;q=1.001, text/*;q=0":             false,
		`text/plain;a="q=0;q=0", application/*;q=.5`: true,
	} {
		require.Equal(t, want, prefersText([]string{accept}), accept)
	}
}

func TestAQuotedSeparatorSeparatesNothing(t *testing.T) {
	for s, want := range map[string][2]string{
		"":            {"", ""},
		",":           {"", ""},
		",a":          {"", "a"},
		"a,b,c":       {"a", "b,c"},
		`"a,b",c`:     {`"a,b"`, "c"},
		`"a\",b",c`:   {`"a\",b"`, "c"},
		`"a\\",b`:     {`"a\\"`, "b"},
		`a\,b`:        {`a\`, "b"},
		`a\",b",c`:    {`a\",b"`, "c"},
		`"]",b`:       {`"]"`, "b"},
		`"never,ends`: {`"never,ends`, ""},
		`"a\`:         {`"a\`, ""},
	} {
		before, after := cutUnquoted(s, ',')
		require.Equal(t, want, [2]string{before, after}, s)
	}
}

// TestOnlyTheFirstKilobyteOfAcceptIsRead: its lines joined by commas, without what is
// cut off in the middle.
func TestOnlyTheFirstKilobyteOfAcceptIsRead(t *testing.T) {
	long := func(n int, last string) string { return strings.Repeat("x", n-len(last)) + last }
	const text = ",text/plain"
	for name, c := range map[string]struct {
		accept []string
		want   bool
	}{
		"just in":                   {[]string{long(1024, text)}, true},
		"one byte over":             {[]string{long(1025, text)}, false},
		"before what is cut off":    {[]string{"text/plain," + long(2000, "")}, true},
		"two lines just in":         {[]string{long(500, ""), long(523, text)}, true},
		"two lines one byte over":   {[]string{long(500, ""), long(524, text)}, false},
		"after one that is cut off": {[]string{"a," + long(2000, ""), "text/plain"}, false},
		"after one that is full":    {[]string{long(1024, ""), "text/plain"}, false},
		"after one byte less":       {[]string{long(1023, ""), "text/plain"}, false},
	} {
		require.Equal(t, c.want, prefersText(c.accept), name)
	}
}
