package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/cmd/weir/internal/accesslog"
	"github.com/goweir/weir/cmd/weir/internal/explain"
	"github.com/goweir/weir/cmd/weir/internal/replay"
	"github.com/urfave/cli/v3"
)

func (c *command) explain() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "say what a policy means",
		ArgsUsage: "POLICY",
		Description: `It says in words what a policy does; the most that any span can admit, whatever the traffic; what a client gets that
asks as fast as it can, beginning at a round time; what a client takes in memory; and how the policy is written in Go.

   weir explain 'token-bucket 10/s burst 20'
   weir explain 'all(token-bucket 10/s burst 20, sliding-window 1000/h)'
   weir explain 'address: 10/s; global: 500/s'

` + exitCodes,
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Len() != 1 {
				return usagef("explain takes one policy, in quotes: weir explain 'token-bucket 10/s burst 20'")
			}
			candidate, err := replay.ParseCandidate(cmd.Args().First(), accesslog.Address)
			if err != nil {
				return usageError{err}
			}
			for i, l := range candidate.Layers {
				if i > 0 {
					fmt.Fprintln(c.out)
				}
				if len(candidate.Layers) > 1 {
					by := "For each " + l.Field.String()
					if l.Global {
						by = "For all requests together"
					}
					fmt.Fprintf(c.out, "%s:\n\n", by)
				}
				c.explainPolicy(l.Policy)
			}
			return nil
		},
	}
}

func (c *command) explainPolicy(p weir.Policy) {
	for _, s := range explain.Words(p) {
		indent := strings.Repeat("  ", s.Depth)
		fmt.Fprintf(c.out, "%s%s\n%s  %s\n", indent, s.Policy.Name(), indent, s.Text)
	}
	fmt.Fprintln(c.out, "\nAt most, whatever the traffic:")
	var rows [][]string
	for _, d := range []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour} {
		most := "no bound"
		if n := p.MaxWithin(d); n < math.MaxInt {
			most = number(n)
		}
		rows = append(rows, []string{"  in any " + span(d), most})
	}
	writeColumns(c.out, "lr", rows)
	fmt.Fprintln(c.out, "\nA client that asks as fast as it can:")
	c.explainGreedy(p)
	fmt.Fprintf(c.out, "\nMemory for each client that is not full: %s\n", explainBytes(p))
	fmt.Fprintf(c.out, "In Go: %s\n", explain.Go(p))
}

func explainBytes(p weir.Policy) string {
	least, most := explain.Bytes(p)
	if least == most {
		return "about " + size(least)
	}
	return fmt.Sprintf("about %s, and as it uses what it may up to %s", size(least), size(most))
}

// mostPhases is how many lines a timeline has.
const mostPhases = 8

func (c *command) explainGreedy(p weir.Policy) {
	phases := explain.Greedy(p, mostPhases, 24*time.Hour)
	if len(phases) == 0 {
		if p.MaxWithin(1) > 0 {
			fmt.Fprintln(c.out, "  is never denied")
		} else {
			fmt.Fprintln(c.out, "  is always denied")
		}
	}
	var rows [][]string
	for _, ph := range phases {
		what := fmt.Sprintf("%s at once", number(ph.N))
		if ph.N == 1 {
			what = "1"
		}
		if ph.Times > 1 {
			what += fmt.Sprintf(" every %s, %s times, up to %s", explain.Round(ph.Every), number(ph.Times), span(ph.Last))
		}
		rows = append(rows, []string{"  " + span(ph.From), what})
	}
	writeColumns(c.out, "rl", rows)
}
