package policyfile_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
	"github.com/goweir/weir/policyfile"
)

const limits = `{
	"api":   "all(token-bucket 10/s burst 20, sliding-window 1000/h)",
	"login": "5/10s"
}
`

func requirePolicies(t *testing.T, want map[string]string, got map[string]weir.Policy) {
	t.Helper()
	names := slices.Sorted(maps.Keys(want))
	require.Equal(t, names, slices.Sorted(maps.Keys(got)))
	for _, name := range names {
		p := weir.MustParsePolicy(want[name])
		require.True(t, got[name].Equal(p), "%s: %v instead of %v", name, got[name], p)
	}
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[string]string
	}{
		"as written":   {limits, map[string]string{"api": "all(10/s burst 20, sliding-window 1000/h)", "login": "token-bucket 5/10s"}},
		"no policies":  {" {\r\n} ", map[string]string{}},
		"escapes":      {`{"\u0061\tb": "5\u002f10s as \"log in\""}`, map[string]string{"a\tb": `5/10s as "log in"`}},
		"other names":  {`{"Login": "1/s", "login": "2/s", "ログイン": "3/s"}`, map[string]string{"Login": "1/s", "login": "2/s", "ログイン": "3/s"}},
		"deny, let in": {`{"off":"0","on":"unlimited"}`, map[string]string{"off": "0", "on": "unlimited"}},
		"1 MiB":        {padded(`{"a": "1/s"}`, 1<<20), map[string]string{"a": "1/s"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := policyfile.Parse([]byte(c.text))
			require.NoError(t, err)
			requirePolicies(t, c.want, got)
		})
	}
}

// padded is text with spaces behind it, size bytes in all.
func padded(text string, size int) string { return text + strings.Repeat(" ", size-len(text)) }

func TestParse_Refused(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		at   string
		says string
	}{
		"nothing":              {"", "1:1", "empty"},
		"spaces":               {" \n\t", "1:1", "empty"},
		"byte order mark":      {"\ufeff" + limits, "1:1", "byte order mark"},
		"only a mark":          {"\ufeff", "1:1", "byte order mark"},
		"UTF-16":               {"\xff\xfe{\x00}\x00", "1:1", "0xff is not UTF-8"},
		"Latin-1":              {"{\n\"caf\xe9\": \"5/s\"}", "2:5", "0xe9 is not UTF-8"},
		"too large":            {padded(limits, 1<<20+1), "1:1", "larger than 1 MiB"},
		"an array":             {` ["5/s"]`, "1:2", "an array instead of an object"},
		"a string":             {`"5/s"`, "1:1", "a string instead of an object"},
		"a number":             {"\n5", "2:1", "a number instead of an object"},
		"null":                 {`null`, "1:1", "null instead of an object"},
		"cut off":              {limits[:len(limits)-3], "3:18", "ends in the middle"},
		"cut off in a string":  {"{\n\"api\": \"10", "2:11", "ends in the middle"},
		"two objects":          {"{\"a\": \"1/s\"}\n{}", "2:1", "after top-level value"},
		"text behind":          {`{"a": "1/s"} # one`, "1:14", "after top-level value"},
		"NUL bytes behind":     {"{}\x00\x00", "1:3", "after top-level value"},
		"a comma too many":     {"{\n  \"a\": \"1/s\",\n}", "3:1", "'}'"},
		"a comma missing":      {"{\"a\": \"1/s\"\n \"b\": \"1/s\"}", "2:2", `'"'`},
		"no quotes":            {`{a: "1/s"}`, "1:2", "'a'"},
		"a line break in it":   {"{\"a\": \"1/s\n\"}", "1:11", `'\n'`},
		"a number as policy":   {"{\"a\": \"1/s\",\n\"ü\": 5}", "2:6", `policy "ü" is a number: write it as a string`},
		"a huge number":        {`{"a": 1e999999}`, "1:7", `policy "a" is a number`},
		"an object as policy":  {`{"a": {"limit": "5/s"}}`, "1:7", `policy "a" is an object`},
		"an array as policy":   {`{"a": ["5/s"]}`, "1:7", `policy "a" is an array`},
		"true as policy":       {`{"a":true}`, "1:6", `policy "a" is a boolean`},
		"null as policy":       {`{"a" : null}`, "1:8", `policy "a" is null`},
		"no name":              {`{"": "5/s"}`, "1:2", "without a name"},
		"a name twice":         {"{\"a\": \"5/s\",\n \"b\": \"5/s\",\n  \"a\": \"5/s\"}", "3:3", `policy "a" is given twice, first at 1:2`},
		"a name in two ways":   {`{"a": "1/s", "\u0061": "2/s"}`, "1:14", `policy "a" is given twice`},
		"an unknown period":    {"{\n\"ログイン\": \"5/fortnight\"}", "2:9", `policy "ログイン": `},
		"an empty policy":      {`{"a": ""}`, "1:7", `policy "a": `},
		"an invalid policy":    {`{"a": "sliding-window 5/s burst 9"}`, "1:7", `policy "a": `},
		"a bad one behind":     {`{"a": "1/s", "b": "1/x"}`, "1:19", `policy "b": `},
		"nested without end":   {strings.Repeat("[", 1<<20), "1:", ""},
		"nested policies":      {`{"a": "` + strings.Repeat("all(", 1<<16) + `"}`, "1:7", `policy "a": `},
		"a name of a megabyte": {`{"` + strings.Repeat("n", 1<<19) + `": 1}`, "1:", "nnn\" is a number"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := policyfile.Parse([]byte(c.text))
			require.Error(t, err)
			require.Empty(t, got)
			require.Regexp(t, `^policyfile: `+c.at, err.Error())
			require.Contains(t, err.Error(), c.says)
			require.Less(t, len(err.Error()), 1000)
		})
	}
}

// No beginning of a file is a file, but for the whole without the spaces behind it.
func TestParse_CutOffAnywhere(t *testing.T) {
	whole := strings.TrimSpace(limits)
	for i := range len(whole) {
		_, err := policyfile.Parse([]byte(whole[:i]))
		require.Error(t, err, "%q", whole[:i])
	}
	_, err := policyfile.Parse([]byte(whole))
	require.NoError(t, err)
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		limits, "", "{}", "\ufeff{}", "null", `{"a": "1/s",}`, `{"a": "1/s", "a": "2/s"}`, `{"a": 5}`, `{"a": {"b": "1/s"}}`,
		`{"\u0061": "leaky-bucket 5/s queue 10 as \"x\""}`, `{"a": "0"} {}`, `{"": "0"}`, "{\"\xff\": \"0\"}", `{"\ud800": "0"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := policyfile.Parse(data)
		if err != nil {
			require.Nil(t, got)
			require.Regexp(t, `^policyfile: [1-9][0-9]*:[1-9][0-9]*: .`, err.Error())
			return
		}
		// What was read is what encoding/json reads,
		var texts map[string]string
		require.NoError(t, json.Unmarshal(data, &texts))
		requirePolicies(t, texts, got)
		// comes back as it was,
		written, err := json.Marshal(got)
		require.NoError(t, err)
		if len(written) <= 1<<20 {
			again, err := policyfile.Parse(written)
			require.NoError(t, err)
			require.Equal(t, len(got), len(again))
			for name, p := range got {
				require.True(t, p.Equal(again[name]), "%s: %v", name, p)
			}
		}
		// and was not whole a byte before.
		whole := strings.TrimRight(string(data), " \t\r\n")
		_, err = policyfile.Parse([]byte(whole[:len(whole)-1]))
		require.Error(t, err)
	})
}
