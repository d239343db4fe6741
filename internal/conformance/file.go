package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Load reads the files of a folder, by name, but for those that need wider integers
// than int.
func Load(dir string) (map[string]File, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	files := make(map[string]File)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := read(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if f.Bits <= strconv.IntSize {
			files[filepath.Base(name)] = f
		}
	}
	return files, nil
}

// read returns a file without its traces if an int does not hold their counts.
func read(data []byte) (f File, err error) {
	var head struct{ Bits int }
	if err := json.Unmarshal(data, &head); err != nil || head.Bits > strconv.IntSize {
		return File{Bits: head.Bits}, err
	}
	return f, json.Unmarshal(data, &f)
}

// MarshalIndent returns a file's JSON, with one step on a line.
func (f File) MarshalIndent() ([]byte, error) {
	var b bytes.Buffer
	about, err := json.Marshal(f.About)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "{\n\"about\": %s,\n\"late\": %d,\n\"bits\": %d,\n\"traces\": [\n", about, f.Late, f.Bits)
	for i, t := range f.Traces {
		steps := t.Steps
		t.Steps = nil
		head, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		b.Write(bytes.TrimSuffix(head, []byte("null}")))
		for j, s := range steps {
			step, err := json.Marshal(s)
			if err != nil {
				return nil, err
			}
			b.WriteString(separator(j, "[\n"))
			b.Write(step)
		}
		b.WriteString("\n]}" + separator(len(f.Traces)-1-i, "\n"))
	}
	b.WriteString("]}\n")
	return b.Bytes(), nil
}

// separator comes between items, and what is at one end of them.
func separator(i int, end string) string {
	if i == 0 {
		return end
	}
	return ",\n"
}
