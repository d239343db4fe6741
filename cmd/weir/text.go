package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goweir/weir/cmd/weir/internal/explain"
)

// writeColumns writes rows of cells in columns: to the left where align has an l,
// to the right where it has an r.
func writeColumns(w io.Writer, align string, rows [][]string) {
	widths := make([]int, len(align))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if align[i] == 'r' {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
			line.WriteString("  ")
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// number writes 12345 as 12,345.
func number[N int | uint32 | uint64](n N) string {
	text := strconv.FormatUint(uint64(n), 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// percent writes a percentage with two digits that mean something. What is not
// none is not written as none, and what is not all not as all.
func percent(p float64) string {
	switch {
	case p == 0 || p == 100:
		return strconv.Itoa(int(p)) + " %"
	case p < 0.01:
		return "< 0.01 %"
	case p > 99.99:
		return "> 99.99 %"
	case p < 1:
		return strconv.FormatFloat(p, 'f', 2, 64) + " %"
	case p > 99.9:
		return strconv.FormatFloat(math.Floor(p*100)/100, 'f', 2, 64) + " %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

// of writes "12 (1.2 %)".
func of(n, all int) string {
	if all == 0 {
		return number(n)
	}
	return fmt.Sprintf("%s (%s)", number(n), percent(100*float64(n)/float64(all)))
}

func span(d time.Duration) string { return explain.Span(d.Round(time.Millisecond)) }

// size writes bytes as people do.
func size(bytes int) string {
	switch {
	case bytes < 10_000:
		return number(bytes) + " B"
	case bytes < 10_000_000:
		return number((bytes+500)/1000) + " kB"
	}
	return number((bytes+500_000)/1_000_000) + " MB"
}

// printable writes text from a log so that it does nothing to a terminal.
func printable(text string) string {
	plain := utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
	if plain {
		return text
	}
	return strconv.QuoteToASCII(text)
}

// spark draws values as a line of text.
func spark(values []float64) string {
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	var line strings.Builder
	for _, v := range values {
		switch {
		case v <= 0:
			line.WriteRune(' ')
		default:
			line.WriteRune([]rune("▁▂▃▄▅▆▇█")[min(7, int(8*v/most))])
		}
	}
	return line.String()
}

// writeFile has write fill a file, which appears whole or not at all.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
