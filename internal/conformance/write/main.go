// Command write makes the random traces in the folder conformance anew, from the
// root of the repository: go run ./internal/conformance/write
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/goweir/weir/internal/conformance"
)

// Of each kind.
const (
	traces = 50
	steps  = 180
)

func main() {
	log.SetFlags(0)
	for _, k := range conformance.Kinds {
		if err := write(k); err != nil {
			log.Fatal(err)
		}
	}
}

func write(k conformance.Kind) error {
	f := conformance.File{About: k.About, Late: k.Late, Bits: k.Bits}
	for seed := range uint64(traces) {
		choose, more := conformance.Randomly(seed, steps)
		t, err := conformance.Random(k, choose, more)
		if err != nil {
			return err
		}
		t.Name = fmt.Sprint(k.Name, " ", seed)
		f.Traces = append(f.Traces, t)
	}
	data, err := f.MarshalIndent()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("conformance", k.Name+".json"), data, 0o644)
}
