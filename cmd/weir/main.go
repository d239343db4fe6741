// Weir shows what a rate limit would have done to the traffic that an access log
// has, compares limits, and recommends one.
//
//	go run github.com/goweir/weir/cmd/weir@latest replay -policy 'token-bucket 10/s burst 20' access.log
//	go run github.com/goweir/weir/cmd/weir@latest help
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/goweir/weir/cmd/weir/internal/accesslog"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"
)

func main() {
	debug.SetGCPercent(25) // what grows are tables without pointers, which cost a collection nothing
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are what a program reads and writes besides files.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// The exit codes.
const (
	exitFine = 0
	exitNo   = 1 // the answer is no, or something could not be read or written, or was interrupted
	exitBad  = 2 // what was given makes no sense
)

const exitCodes = `Exit codes:
   0  fine
   1  the answer is no (no limit that plan was asked for does it; the server that load asked broke its promise),
      a file could not be read or written, or the command was interrupted
   2  bad input: a flag, a policy, a log that is none`

// A usageError is a command that makes no sense.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func (e usageError) Unwrap() error { return e.error }

// errNo is an answer that was given on the standard output.
var errNo = errors.New("no")

// run does what the arguments ask for, and returns an exit code.
func run(ctx context.Context, args []string, std streams) int {
	out := bufio.NewWriter(std.out)
	c := command{std: std, out: out, terminal: isTerminal(std.out)}
	root := c.root()
	err := root.Run(ctx, append([]string{"weir"}, nameStdin(args)...))
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	var input *accesslog.InputError
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, errNo):
		return exitNo
	}
	fmt.Fprintln(std.err, "weir:", strings.TrimPrefix(err.Error(), "weir: "))
	if errors.As(err, &input) || errors.As(err, new(usageError)) {
		return exitBad
	}
	return exitNo
}

// nameStdin replaces "-", at which the library would stop reading flags.
func nameStdin(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "-" {
			args[i] = accesslog.Stdin
		}
	}
	return args
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A command is one run of the program.
type command struct {
	std      streams
	out      *bufio.Writer
	terminal bool // out is one
}

func (c *command) root() *cli.Command {
	root := &cli.Command{
		Name:  "weir",
		Usage: "see what a rate limit would do to the traffic that you have",
		Description: `What a limit does depends on the traffic, and an access log has that. weir replay puts it through the limits that
you have in mind, weir plan looks for the smallest that denies only a few, weir compare tells two apart,
weir explain says what one means, and weir load tries a server's.

` + exitCodes,
		Commands:              []*cli.Command{c.replay(), c.plan(), c.compare(), c.explain(), c.load()},
		EnableShellCompletion: true,
		HideVersion:           true,
		Suggest:               true,
		Writer:                c.out,
		ErrWriter:             c.std.err,
		Reader:                c.std.in,
		ExitErrHandler:        func(context.Context, *cli.Command, error) {},
		OnUsageError:          usage,
		ConfigureShellCompletionCommand: func(completion *cli.Command) {
			completion.Hidden = false
			completion.Usage = "print a script that completes commands and flags in bash, zsh, fish or pwsh"
		},
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return usagef("there is no command %q: it is one of replay, plan, compare, explain, load, completion", cmd.Args().First())
			}
			return cli.ShowRootCommandHelp(cmd)
		},
	}
	for _, sub := range root.Commands {
		sub.OnUsageError = usage
		sub.DisableSliceFlagSeparator = true // a policy has commas
		sub.HideHelpCommand = true
	}
	return root
}

func usage(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	return usagef("%w (see weir help %s)", err, strings.TrimSuffix(cmd.Name, "weir"))
}
