// Package tools has no code: its module pins the programs that the checks run.
package tools
