package switches

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestASwitchIsTheOriginalUnlessItIsOn has each switch as it is off, and on.
func TestASwitchIsTheOriginalUnlessItIsOn(t *testing.T) {
	defer func() { mutantActive = 0 }()
	const id = 7
	for name, c := range map[string]struct {
		value   func() any
		off, on any
	}{
		"not":          {func() any { return MutantNot(id, true) }, true, false},
		"true":         {func() any { return MutantTrue(id, false) }, false, true},
		"already true": {func() any { return MutantTrue(id, true) }, true, true},
		"false":        {func() any { return MutantFalse(id, true) }, true, false},
		"zero":         {func() any { return MutantZero(id, "a") }, "a", ""},

		"2 < 2":  {func() any { return MutantLess(id, 2, 2) }, false, true},
		"2 < 1":  {func() any { return MutantLess(id, 2, 1) }, false, false},
		"1 < 2":  {func() any { return MutantLess(id, 1, 2) }, true, true},
		"2 > 2":  {func() any { return MutantMore(id, 2, 2) }, false, true},
		"2 > 1":  {func() any { return MutantMore(id, 2, 1) }, true, true},
		"1 > 2":  {func() any { return MutantMore(id, 1, 2) }, false, false},
		"2 <= 2": {func() any { return MutantAtMost(id, 2, 2) }, true, false},
		"1 <= 2": {func() any { return MutantAtMost(id, 1, 2) }, true, true},
		"2 <= 1": {func() any { return MutantAtMost(id, 2, 1) }, false, false},
		"2 >= 2": {func() any { return MutantAtLeast(id, 2, 2) }, true, false},
		"2 >= 1": {func() any { return MutantAtLeast(id, 2, 1) }, true, true},
		"1 >= 2": {func() any { return MutantAtLeast(id, 1, 2) }, false, false},
		"NaN":    {func() any { return MutantAtMost(id, math.NaN(), 1) }, false, false},

		"next":   {func() any { return MutantNext(id, uint8(255)) }, uint8(255), uint8(0)},
		"twice":  {func() any { return MutantTwice(id, 3) }, 3, 6},
		"-3":     {func() any { return MutantNeg(id, 3) }, 3, -3},
		"5 + 3":  {func() any { return MutantAdd(id, 5, 3) }, 8, 2},
		"5 - 3":  {func() any { return MutantSub(id, 5, 3) }, 2, 8},
		"6 * 3":  {func() any { return MutantMul(id, 6, 3) }, 18, 2},
		"6 / 3":  {func() any { return MutantQuo(id, 6, 3) }, 2, 18},
		"7 % 3":  {func() any { return MutantRem(id, 7, 3) }, 1, 21},
		"6 & 3":  {func() any { return MutantAnd(id, 6, 3) }, 2, 7},
		"6 | 3":  {func() any { return MutantOr(id, 6, 3) }, 7, 2},
		"6 ^ 3":  {func() any { return MutantXor(id, 6, 3) }, 5, 2},
		"6 &^ 3": {func() any { return MutantAndNot(id, 6, 3) }, 4, 2},
		"6 << 1": {func() any { return MutantShl(id, 6, 1) }, 12, 3},
		"6 >> 1": {func() any { return MutantShr(id, 6, 1) }, 3, 12},
		"min":    {func() any { return MutantMin(id, 2, 1, 3) }, 1, 3},
		"max":    {func() any { return MutantMax(id, 2, 1, 3) }, 3, 1},
	} {
		for active, want := range map[int]any{0: c.off, id: c.on, id + 1: c.off} {
			mutantActive = active
			if got := c.value(); got != want {
				t.Errorf("%s: %v in a process that is mutant %d, not %v", name, got, active, want)
			}
		}
	}
}

// TestAPlaceIsReachedOnce: and not where the mutant's value would be the same.
func TestAPlaceIsReachedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reached")
	t.Setenv("WEIR_MUTANT", "reach:"+file)
	mutantActive, mutantReached = mutantStart()
	defer func() { mutantActive = 0 }()
	for range 3 {
		MutantNot(1, true)
		MutantLess(2, 1, 2)
		MutantLess(3, 2, 2)
	}
	if err := mutantReached.file.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "1\n3\n" {
		t.Errorf("reached %q, %v", text, err)
	}
}
