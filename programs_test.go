package weir_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"github.com/stretchr/testify/require"
)

// parseOp reads a step as a program that fails prints it.
func parseOp(t testing.TB, text string) (o op) {
	words := strings.Fields(text)
	o.verb, o.d = words[0], 0
	if o.verb == "Reserve" {
		o.d = weir.Never
	}
	for i := 1; i < len(words); i++ {
		next := func(format string, to any) {
			i++
			_, err := fmt.Sscanf(words[i], format, to)
			require.NoError(t, err, text)
		}
		switch words[i] {
		case "key":
			next("%d", &o.key)
		case "n":
			next("%d", &o.n)
		case "receipt":
			next("%d", &o.receipt)
		case "within":
			i++
			fallthrough
		default:
			if d, err := time.ParseDuration(words[i]); err == nil {
				o.d = d
				continue
			}
			o.policy = weir.MustParsePolicy(strings.Join(words[i:], " "))
			return o
		}
	}
	return o
}

// A telling is a program on a Limiter, for no keys, or on a PerClient with some.
type telling struct {
	policy  string
	keys    int
	o       model.Options
	program string
}

// replay does the program, and looks after each step at all that can be seen.
func (p telling) replay(w *world) {
	back := strings.Contains(p.program, "Advance -") || strings.Contains(p.program, "Look")
	for i, text := range strings.Split(p.program, "; ") {
		w.step(parseOp(w, text))
		for key, k := range w.real.keys {
			m := w.model.keys[key]
			w.same(fmt.Sprint("afterwards key ", key), k.Peek(i%2), m.Peek(i%2))
			w.same("its policy", k.Policy().Equal(m.Policy()), true)
			w.same("its stats", k.Stats(), m.Stats())
		}
		for i := 0; i < len(w.real.receipts) && !back; i++ {
			look := op{verb: "Look", receipt: i}
			w.same(look.String(), w.real.do(look), w.model.do(look))
		}
	}
}

func (p telling) build(w *world) {
	if p.keys == 0 {
		w.addLimiter(weir.MustParsePolicy(p.policy), p.o)
	} else {
		w.addClients(weir.MustParsePolicy(p.policy), p.o, p.keys)
	}
}

// Programs that are as short as can be for what they would show: on a clock that is set, and on the system's.
func TestShortProgramsGoAsTheModelHasIt(t *testing.T) {
	for name, p := range tellings {
		t.Run(name, func(t *testing.T) {
			p.replay(newWorld(t, nil, p.build))
			if !strings.Contains(p.program, "Advance -") {
				inBubble(t, nil, p.build, p.replay)
			}
		})
	}
}
