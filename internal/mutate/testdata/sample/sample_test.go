package sample

import "testing"

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b int
		want string
	}{{1, 2, "less"}, {2, 2, "equal or twice"}, {5, 2, "equal or twice"}, {3, 2, ""}, {5, 0, ""}} {
		if got := compare(c.a, c.b); got != c.want {
			t.Errorf("compare(%d, %d) = %q, not %q", c.a, c.b, got, c.want)
		}
	}
}

func TestCount(t *testing.T) {
	if n, err := count(4, 0); n != 20 || err != nil {
		t.Error(n, err)
	}
	if _, err := count(0, 0); err == nil {
		t.Error("no error")
	}
}

func TestSet(t *testing.T) {
	p := new(pair[string])
	if !p.set("a", false) || p.set("b", true) || p.key != "b" || p.made.IsZero() || len(p.more) != 0 {
		t.Error(p)
	}
}
