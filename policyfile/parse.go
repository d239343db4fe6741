package policyfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goweir/weir"
)

// maxSize is far above what people write, and far below what hurts a program
// that reads it at every look.
const maxSize = 1 << 20

// space is what JSON has between two tokens, and the separators, which Decoder.Token passes over.
const space, separators = " \t\r\n", ":,"

// Parse returns the policies of a file's content, by name.
func Parse(data []byte) (map[string]weir.Policy, error) {
	policies, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("policyfile: %w", err)
	}
	return policies, nil
}

// parse is Parse with errors that begin with the line and the column.
func parse(data []byte) (map[string]weir.Policy, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	if err := checkSyntax(data); err != nil {
		return nil, err
	}
	// All of it is JSON now, so that the tokens below are what they seem.
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	next := func() (json.Token, int, error) {
		done := int(d.InputOffset())
		start := len(data) - len(bytes.TrimLeft(data[done:], space+separators))
		token, err := d.Token()
		if err != nil {
			err = errorAt(data, start, "%w", err)
		}
		return token, start, err
	}

	token, start, err := next()
	if err != nil {
		return nil, err
	}
	if token != json.Delim('{') {
		return nil, errorAt(data, start, "%s instead of an object of names and policies", kind(token))
	}
	policies := map[string]weir.Policy{}
	seen := map[string]int{}
	for d.More() {
		token, start, err := next()
		if err != nil {
			return nil, err
		}
		name := token.(string)
		if name == "" {
			return nil, errorAt(data, start, "a policy without a name")
		}
		if first, again := seen[name]; again {
			return nil, errorAt(data, start, "policy %.64q is given twice, first at %s", name, position(data, first))
		}
		seen[name] = start
		token, start, err = next()
		if err != nil {
			return nil, err
		}
		text, ok := token.(string)
		if !ok {
			return nil, errorAt(data, start, `policy %.64q is %s: write it as a string, such as "10/s burst 20"`, name, kind(token))
		}
		var p weir.Policy
		if err := p.UnmarshalText([]byte(text)); err != nil {
			return nil, errorAt(data, start, "policy %.64q: %w", name, err)
		}
		policies[name] = p
	}
	return policies, nil
}

// checkText refuses what is no text to begin with.
func checkText(data []byte) error {
	switch {
	case len(data) > maxSize:
		return errors.New("1:1: it is larger than 1 MiB")
	case len(bytes.TrimLeft(data, space)) == 0:
		return errors.New(`1:1: it is empty: a file without policies is {}`)
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return errors.New("1:1: it begins with a byte order mark: save it as UTF-8 without one")
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return errorAt(data, i, "the byte %#x is not UTF-8", data[i])
		}
		i += size
	}
	return nil
}

// checkSyntax refuses what is not a single JSON value.
func checkSyntax(data []byte) error {
	var value json.RawMessage
	err := json.Unmarshal(data, &value)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &syntax):
		return errorAt(data, 0, "%w", err)
	case syntax.Error() == "unexpected end of JSON input":
		return errorAt(data, len(data), "it ends in the middle, as if it was cut off")
	}
	return errorAt(data, int(syntax.Offset)-1, "%w", err) // the offset is behind the culprit
}

func errorAt(data []byte, offset int, format string, args ...any) error {
	return fmt.Errorf("%s: %w", position(data, offset), fmt.Errorf(format, args...))
}

// position returns the line and the column in characters, both from 1.
func position(data []byte, offset int) string {
	before := data[:max(0, min(offset, len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("%d:%d", line, column)
}

func kind(token json.Token) string {
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return "an object"
		}
		return "an array"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	}
	return "null"
}
