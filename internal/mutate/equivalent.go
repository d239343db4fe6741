package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Each line that is not indented names a mutant, and the indented lines that follow
// say why no test can notice it.
//
//go:embed equivalent.txt
var equivalentText string

// equivalents returns the reasons by mutant.
func equivalents(text string) (map[string]string, error) {
	reasons := make(map[string]string)
	name := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(line, "#"):
		case line[0] == '\t' && name != "":
			reasons[name] = strings.TrimSpace(reasons[name] + " " + trimmed)
		default:
			if name != "" && reasons[name] == "" {
				return nil, fmt.Errorf("equivalent.txt: no reason for %s", name)
			}
			if name = trimmed; reasons[name] != "" {
				return nil, fmt.Errorf("equivalent.txt: twice: %s", name)
			}
		}
	}
	if name != "" && reasons[name] == "" {
		return nil, fmt.Errorf("equivalent.txt: no reason for %s", name)
	}
	return reasons, nil
}

// astray finds what equivalent.txt says of files that are not in the module at root.
func astray(root string, reasons map[string]string) error {
	for name := range reasons {
		file, _, _ := strings.Cut(name, " ")
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err != nil {
			return fmt.Errorf("equivalent.txt: %s: %w", name, err)
		}
	}
	return nil
}

// stale finds what it says of mutants that there are not in files that are.
func stale(b *build, wanted func(*source) bool, reasons map[string]string) error {
	there := make(map[string]bool)
	for _, m := range b.mutants {
		there[m.String()] = true
	}
	for _, s := range b.files {
		if !wanted(s) {
			continue
		}
		for name := range reasons {
			if strings.HasPrefix(name, s.name+" ") && !there[name] {
				return fmt.Errorf("equivalent.txt: no such mutant: %s", name)
			}
		}
	}
	return nil
}
