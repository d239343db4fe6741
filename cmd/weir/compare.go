package main

import (
	"context"
	"fmt"
	"time"

	"github.com/goweir/weir/cmd/weir/internal/replay"
	"github.com/urfave/cli/v3"
)

func (c *command) compare() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "say who would be denied by one policy and not by another",
		ArgsUsage: "[LOG ...]",
		Description: `   weir compare -live 'fixed-window 100/m' -candidate 'sliding-window 100/m' access.log

` + aboutInput + `

It puts the requests of a log through a policy that is live and one that might replace it, and prints:

   agreement         the share of requests that both admit or both deny
   newly denied      requests that live admits and the candidate denies; newly admitted: the other way round
   clients newly denied   of whom live denied nothing, and the candidate something
   clients newly free     of whom live denied something, and the candidate nothing

and the clients with the most of such requests, with the time of the first.

` + exitCodes,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "live", Required: true, Usage: "the `POLICY` in force"},
			&cli.StringFlag{Name: "candidate", Required: true, Usage: "the `POLICY` that might replace it"},
			&cli.IntFlag{Name: "top", Value: 5, Usage: "how many clients to name of each kind"},
		}, inputFlags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error { return c.runCompare(ctx, cmd) },
	}
}

func (c *command) runCompare(ctx context.Context, cmd *cli.Command) error {
	key, err := keyFlag(cmd)
	if err != nil {
		return err
	}
	tried, err := candidates([]string{cmd.String("live"), cmd.String("candidate")}, key)
	if err != nil {
		return err
	}
	top, err := topFlag(cmd)
	if err != nil {
		return err
	}
	in, err := c.open(cmd, key, replay.Fields(tried, key))
	if err != nil {
		return err
	}
	trials := replay.NewTrials(tried, key, in.fields)
	comparison := replay.Compare(trials[0], trials[1])
	summary, interrupted, err := in.read(ctx, func(rows []uint64) error {
		comparison.Add(rows)
		return nil
	})
	if err != nil {
		return err
	}
	r := newCompareReport(in, newReport(in, summary, trials, top), comparison.Agreement(top, in.name))
	if interrupted == nil && drawing(cmd) {
		if err := writePictures(cmd, comparePage(in, r)); err != nil {
			return err
		}
	}
	if err := c.answer(cmd.Bool("json"), r, func() { c.printComparison(r) }); err != nil {
		return err
	}
	return interrupted
}

// A compareReport is what compare found. It is printed as JSON as it is; of Policies,
// the first is live.
type compareReport struct {
	report
	Agreement          float64            `json:"agreement"`
	BothAdmit          uint64             `json:"both_admit"`
	BothDeny           uint64             `json:"both_deny"`
	NewlyDenied        uint64             `json:"newly_denied"`
	NewlyAdmitted      uint64             `json:"newly_admitted"`
	ClientsNewlyDenied int                `json:"clients_newly_denied"`
	ClientsNewlyFree   int                `json:"clients_newly_free"`
	Denied             []differenceReport `json:"newly_denied_most"`
	Admitted           []differenceReport `json:"newly_admitted_most"`
}

type differenceReport struct {
	Client          string    `json:"client"`
	LiveDenied      uint32    `json:"live_denied"`
	CandidateDenied uint32    `json:"candidate_denied"`
	Newly           uint32    `json:"newly"`
	First           time.Time `json:"first"`
}

func newCompareReport(in *input, base *report, a replay.Agreement) *compareReport {
	r := &compareReport{
		report: *base, Agreement: a.Percent(), BothAdmit: a.BothAdmit, BothDeny: a.BothDeny, NewlyDenied: a.NewlyDenied,
		NewlyAdmitted: a.NewlyAdmitted, ClientsNewlyDenied: a.ClientsNewlyDenied, ClientsNewlyFree: a.ClientsNewlyFree,
		Denied: []differenceReport{}, Admitted: []differenceReport{},
	}
	for _, d := range a.Denied {
		r.Denied = append(r.Denied, differenceReport{in.name(d.Key), d.LiveDenied, d.CandidateDenied, d.NewlyDenied, time.Unix(0, d.First).UTC()})
	}
	for _, d := range a.Admitted {
		r.Admitted = append(r.Admitted, differenceReport{in.name(d.Key), d.LiveDenied, d.CandidateDenied, d.NewlyAdmitted, time.Unix(0, d.First).UTC()})
	}
	return r
}

func (c *command) printComparison(r *compareReport) {
	c.printSummary(&r.report)
	live, candidate := r.Policies[0], r.Policies[1]
	fmt.Fprintf(c.out, "\nlive       %s\ncandidate  %s\n\n", printable(live.Policy), printable(candidate.Policy))
	all := int(r.BothAdmit + r.BothDeny + r.NewlyDenied + r.NewlyAdmitted)
	writeColumns(c.out, "lr", [][]string{
		{"agreement", percent(r.Agreement)},
		{"both admit", of(int(r.BothAdmit), all)},
		{"both deny", of(int(r.BothDeny), all)},
		{"newly denied", of(int(r.NewlyDenied), all)},
		{"newly admitted", of(int(r.NewlyAdmitted), all)},
		{"clients newly denied", of(r.ClientsNewlyDenied, live.Clients)},
		{"clients newly free", of(r.ClientsNewlyFree, live.Clients)},
	})
	c.printDifferences("Newly denied most", live.Key, r.Denied)
	c.printDifferences("Newly admitted most", live.Key, r.Admitted)
}

func (c *command) printDifferences(title, key string, all []differenceReport) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(c.out, "\n%s:\n\n", title)
	rows := [][]string{{key, "requests", "denied by live", "by the candidate", "the first at"}}
	for _, d := range all {
		rows = append(rows, []string{d.Client, number(d.Newly), number(d.LiveDenied), number(d.CandidateDenied), d.First.Format(timeFormat)})
	}
	writeColumns(c.out, "lrrrr", rows)
}
