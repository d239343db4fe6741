package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/goweir/weir/cmd/weir/internal/accesslog"
	"github.com/goweir/weir/cmd/weir/internal/replay"
	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"
)

// inputFlags are those of all commands that read logs.
func inputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "key", Value: "address",
			Usage: "what tells clients apart: address (IPv6 by its /64), user, path, header:`NAME`, field:NAME"},
		&cli.StringFlag{Name: "format", Value: "auto", Usage: "of the lines: auto, combined (or common), json, csv"},
		&cli.StringFlag{Name: "names", Usage: "what parts of a line are called in JSON or CSV, as `time=ts,address=client.ip`"},
		&cli.BoolFlag{Name: "lenient", Usage: "leave out lines that are more than an hour late, too long, or too many that do not parse"},
		&cli.BoolFlag{Name: "json", Usage: "print one object of JSON, for programs"},
		&cli.StringFlag{Name: "html", Usage: "write the pictures to `FILE`, a page that needs no network"},
		&cli.StringFlag{Name: "svg", Usage: "write the first picture to `FILE`"},
	}
}

// aboutInput is in the help of all commands that read logs.
const aboutInput = `Logs are read in nginx's and Apache's Common and Combined formats, as lines of JSON, and as CSV with the names of
the columns in the first line; plain or compressed with gzip. Several files are read as one, in order of time. Without a
file, or with -, the standard input is read.

Lines that come late, by up to an hour, are put in order, those of the same instant as they came. Lines that do
not parse are counted; more than 5 % of them, and a line that is later, are an error without -lenient. Times are taken
as they are logged: where they have whole seconds, the requests of a second come all at once, which no limit takes
for less than it was.

A policy is written as "token-bucket 10/s burst 20", "all(token-bucket 10/s, sliding-window 1000/h)"; see weir.ParsePolicy.
Several that have to admit together, each with a key of its own, are written as "address: 10/s; user: 1000/h; global: 500/s". A
request that does not say who it is of, such as one without a user, is not limited by that key.`

// An input is the logs of a command.
type input struct {
	*accesslog.Log
	key    accesslog.Field
	fields []accesslog.Field
	bar    *progressbar.ProgressBar
}

// keyFlag returns the flag -key.
func keyFlag(cmd *cli.Command) (accesslog.Field, error) {
	key, err := accesslog.ParseField(cmd.String("key"))
	if err != nil {
		return key, usageError{err}
	}
	return key, nil
}

// topFlag returns the flag -top.
func topFlag(cmd *cli.Command) (int, error) {
	if n := cmd.Int("top"); n >= 0 && n <= 100_000 {
		return n, nil
	}
	return 0, usagef("-top %d: it must be between 0 and 100000", cmd.Int("top"))
}

// open opens the logs that a command names, for rows with these fields.
func (c *command) open(cmd *cli.Command, key accesslog.Field, fields []accesslog.Field) (*input, error) {
	in := &input{key: key, fields: fields}
	o := accesslog.Options{Fields: fields, Lenient: cmd.Bool("lenient"), Stdin: c.std.in, Progress: in.progress}
	var err error
	if o.Format, err = accesslog.ParseFormat(cmd.String("format")); err != nil {
		return nil, usageError{err}
	}
	if o.Names, err = accesslog.ParseNames(cmd.String("names")); err != nil {
		return nil, usageError{err}
	}
	paths := cmd.Args().Slice()
	if len(paths) == 0 {
		if f, ok := c.std.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return nil, usagef("no log: name one, or pipe it in")
		}
		paths = []string{accesslog.Stdin}
	}
	if in.Log, err = accesslog.Open(paths, o); err != nil {
		return nil, err
	}
	if size := in.Size(); size > 0 && isTerminal(c.std.err) {
		in.bar = progressbar.NewOptions64(size, progressbar.OptionSetWriter(c.std.err), progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription("reading"))
	}
	return in, nil
}

func (in *input) progress(bytes int) {
	if in.bar != nil {
		in.bar.Add(bytes)
	}
}

// read reads the logs to their end. It reports an interruption, with what was read
// until then, and fails on anything else.
func (in *input) read(ctx context.Context, emit func(rows []uint64) error) (s accesslog.Summary, interrupted error, err error) {
	s, err = in.Read(ctx, emit)
	if in.bar != nil {
		in.bar.Finish()
	}
	if errors.Is(err, context.Canceled) {
		return s, fmt.Errorf("interrupted: this is what was read until then"), nil
	}
	return s, nil, err
}

// name returns what to call a client.
func (in *input) name(k accesslog.Key) string {
	if text := in.Text(k); text != "" {
		return printable(text)
	}
	return "(a rare one)"
}

// candidates reads the policies of a flag that may be given several times.
func candidates(texts []string, key accesslog.Field) ([]replay.Candidate, error) {
	var all []replay.Candidate
	for _, text := range texts {
		c, err := replay.ParseCandidate(text, key)
		if err != nil {
			return nil, usageError{err}
		}
		all = append(all, c)
	}
	return all, nil
}
