package debuglimit

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
)

var (
	//go:embed page.html
	markup []byte
	//go:embed page.css
	style []byte
	//go:embed page.js
	script []byte

	// html is the page in one piece.
	html = bytes.Replace(bytes.Replace(markup, []byte("/*style*/"), style, 1), []byte("/*script*/"), script, 1)

	// policy lets the page have its own style and script, known by their hashes, and talk to
	// where it came from; nothing else.
	policy = "default-src 'none'; script-src " + hashOf(script) + "; style-src " + hashOf(style) +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// hashOf is a source expression of Content Security Policy Level 3.
func hashOf(asset []byte) string {
	sum := sha256.Sum256(asset)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
