package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

const chartFolder = "docs/benchmarks"

// isWeir reports whether a contender is weir in one form or another.
func isWeir(by string) bool { return strings.HasPrefix(by, "weir") }

// write makes all files in a folder that is laid out as the repository is.
func (r Results) write(folder string) error {
	charts := filepath.Join(folder, filepath.FromSlash(chartFolder))
	if err := r.writeRaw(charts, "results.json"); err != nil {
		return err
	}
	for _, c := range r.charts() {
		if err := c.write(charts); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, "BENCHMARKS.md"), []byte(r.markdown()), 0o644)
}

// writeRaw makes the file that -from reads.
func (r Results) writeRaw(folder, name string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), append(raw, '\n'), 0o644)
}
