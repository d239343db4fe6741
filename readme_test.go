package weir_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// These two stand in the README as they are.

func TestLoginComesBackAfterTenSeconds(t *testing.T) {
	clock := weir.NewManualClock()
	login := weir.New(weir.TokenBucket(weir.Every(10*time.Second).WithBurst(5)), weir.WithClock(clock))

	require.True(t, login.AllowN(5))
	require.Equal(t, 10*time.Second, login.Peek(1).RetryAfter)
	clock.Advance(10*time.Second - 1)
	require.False(t, login.Allow())
	clock.Advance(1)
	require.True(t, login.Allow())
}

func TestJobsComeBackAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs := weir.New(weir.TokenBucket(weir.PerSecond(10)))

		require.True(t, jobs.AllowN(10))
		require.False(t, jobs.Allow())
		time.Sleep(time.Second) // the bubble's second: at once
		require.True(t, jobs.AllowN(10))
	})
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// blocks returns the README's code blocks in a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(readFile(t, "README.md"), -1) {
		found = append(found, m[1])
	}
	return found
}

func TestREADME_CommandsAreThese(t *testing.T) {
	require.Equal(t, []string{"go run ./examples/demo\ngo test ./...\n"}, blocks(t, "sh"))
}

// Every Go block is a run of lines of a file that is compiled and, but for those of nested modules, run
// here: what the README shows is what the tests have seen.
func TestREADME_BlocksAreRunCode(t *testing.T) {
	undented := regexp.MustCompile(`(?m)^\t`)
	var code strings.Builder
	for _, name := range []string{"example_test.go", "example_reserve_test.go", "example_layers_test.go", "example_text_test.go", "readme_test.go", "examples/server/limits.go", "debuglimit/example_test.go", "redislimit/example_test.go",
		"promlimit/example_test.go", "otellimit/example_test.go", "grpclimit/example_test.go"} {
		text := readFile(t, name)
		code.WriteString("\n" + text + "\n" + undented.ReplaceAllString(text, ""))
	}
	found := blocks(t, "go")
	require.NotEmpty(t, found)
	for _, block := range found {
		if !strings.Contains(code.String(), "\n"+block) {
			t.Errorf("no example has these lines:\n%s", block)
		}
	}
	for _, fence := range regexp.MustCompile("(?m)^```(.+)$").FindAllStringSubmatch(readFile(t, "README.md"), -1) {
		require.Contains(t, []string{"go", "sh", "http", "console"}, fence[1], "a block that no test looks at") // http: examples/server's test; console: cmd/weir's
	}
}

// The numbers of the tables are what the code answers.
func TestREADME_TablesAreTheCodesAnswers(t *testing.T) {
	spans := map[string]time.Duration{"at once": 1, "in any second": time.Second, "in any 10 s": 10 * time.Second}
	demo := readFile(t, "examples/demo/scenarios.go")
	var header []string
	checked := 0
	for line := range strings.Lines(readFile(t, "README.md")) {
		if !strings.HasPrefix(line, "|") {
			header = nil
			continue
		}
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if header == nil {
			header = cells
			continue
		}
		require.Len(t, cells, len(header), line)
		var policy weir.Policy
		for i, cell := range cells {
			if header[i] == "Policy" && !strings.HasPrefix(cell, "-") {
				cell = strings.Trim(cell, "`")
				policy = evalPolicy(t, cell)
				if header[0] == "Traffic" {
					require.Contains(t, demo, cell, "a policy that the demo does not have")
				}
			}
			span, numeric := spans[header[i]]
			if _, err := strconv.Atoi(cell); err == nil {
				require.True(t, numeric, "nobody knows how to check %q", header[i])
			}
			if !numeric || strings.HasPrefix(cell, "-") {
				continue
			}
			require.Equal(t, strconv.Itoa(policy.MaxWithin(span)), cell, "%s, %s", policy, header[i])
			checked++
		}
	}
	require.Equal(t, 6*2+5*3, checked)
}

func TestREADME_PlainWordsAreTheCodesAnswers(t *testing.T) {
	text := strings.Join(strings.Fields(readFile(t, "README.md")), " ")
	second := func(p weir.Policy) int { return p.MaxWithin(time.Second) }
	ten := weir.PerSecond(10)
	require.Contains(t, text, fmt.Sprintf("a token bucket of 10/s admits up to %d in one second, 10 that had been saved up and %d",
		second(weir.TokenBucket(ten)), second(weir.TokenBucket(ten))-10))
	require.Contains(t, text, fmt.Sprintf("`SlidingWindow` never exceeds %d,", second(weir.SlidingWindow(ten))))
	require.Contains(t, text, fmt.Sprintf("A fixed window admits up to %d in one second", second(weir.FixedWindow(ten))))
}

// evalPolicy reads a policy as Go writes it.
func evalPolicy(t *testing.T, text string) weir.Policy {
	t.Helper()
	expr, err := parser.ParseExpr(text)
	require.NoError(t, err, text)
	policy, ok := eval(t, expr).Interface().(weir.Policy)
	require.True(t, ok, text)
	return policy
}

func eval(t *testing.T, expr ast.Expr) reflect.Value {
	t.Helper()
	names := map[string]any{
		"weir.TokenBucket": weir.TokenBucket, "weir.LeakyBucket": weir.LeakyBucket,
		"weir.FixedWindow": weir.FixedWindow, "weir.SlidingWindow": weir.SlidingWindow,
		"weir.SlidingCounter": weir.SlidingCounter, "weir.BurstReserve": weir.BurstReserve,
		"weir.Per": weir.Per, "weir.PerSecond": weir.PerSecond, "weir.Every": weir.Every,
		"time.Second": time.Second, "time.Millisecond": time.Millisecond,
	}
	switch e := expr.(type) {
	case *ast.BasicLit:
		n, err := strconv.Atoi(e.Value)
		require.NoError(t, err)
		return reflect.ValueOf(n)
	case *ast.BinaryExpr:
		require.Equal(t, token.MUL, e.Op)
		return reflect.ValueOf(time.Duration(eval(t, e.X).Int() * eval(t, e.Y).Int()))
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			v, known := names[pkg.Name+"."+e.Sel.Name]
			require.True(t, known, "%s.%s", pkg.Name, e.Sel.Name)
			return reflect.ValueOf(v)
		}
		return eval(t, e.X).MethodByName(e.Sel.Name)
	case *ast.CallExpr:
		var args []reflect.Value
		for _, arg := range e.Args {
			args = append(args, eval(t, arg))
		}
		return eval(t, e.Fun).Call(args)[0]
	}
	require.Fail(t, "not an expression of a policy", "%T", expr)
	return reflect.Value{}
}
