package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/cmd/weir/internal/accesslog"
	"github.com/goweir/weir/cmd/weir/internal/explain"
	"github.com/goweir/weir/cmd/weir/internal/plan"
	"github.com/goweir/weir/cmd/weir/internal/replay"
	"github.com/urfave/cli/v3"
)

func (c *command) plan() *cli.Command {
	return &cli.Command{
		Name:      "plan",
		Usage:     "find the smallest limit that would have denied only a few",
		ArgsUsage: "[LOG ...]",
		Description: `   weir plan access.log
   weir plan -clients 0.1 -per 1s -algorithm token-bucket access.log
   weir plan -requests 0.5 -per 1h -key user -html plan.html access.log.*.gz

` + aboutInput + `

For each algorithm it finds the smallest count per period with which at most so many percent of the clients would have been
denied at least once, or with -requests so many percent of the requests, by trying: one less denies more. Of
a token bucket it also finds the slowest refill with that same burst. For the first algorithm it prints the trade-off curve,
the policy as text and as Go, and the clients that it would have denied: whether those are abuse, as it takes them to be,
is for you to say.

The log is kept in a temporary file meanwhile, 16 bytes a line.

` + exitCodes,
		Flags: append([]cli.Flag{
			&cli.FloatFlag{Name: "clients", Value: 1, Usage: "how many `PERCENT` of clients may be denied something"},
			&cli.FloatFlag{Name: "requests", Usage: "instead: how many `PERCENT` of requests may be denied"},
			&cli.DurationFlag{Name: "per", Value: time.Minute, Usage: "the `PERIOD` of the limit: 1s, 1m, 1h, 24h"},
			&cli.StringSliceFlag{Name: "algorithm", Usage: "which to plan for, the first to recommend; may be given more than once (default: token-bucket, " +
				"sliding-window, sliding-counter, fixed-window)"},
			&cli.IntFlag{Name: "top", Value: 10, Usage: "how many of the denied clients to name"},
		}, inputFlags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error { return c.runPlan(ctx, cmd) },
	}
}

func (c *command) runPlan(ctx context.Context, cmd *cli.Command) error {
	families, goal, err := planned(cmd)
	if err != nil {
		return err
	}
	key, err := keyFlag(cmd)
	if err != nil {
		return err
	}
	top, err := topFlag(cmd)
	if err != nil {
		return err
	}
	in, err := c.open(cmd, key, []accesslog.Field{key})
	if err != nil {
		return err
	}
	traffic, r, err := c.spool(ctx, in)
	if err != nil {
		return err
	}
	defer traffic.Spool.Close()
	r.Goal = goalReport{goal.Percent, map[bool]string{false: "clients", true: "requests"}[goal.OfRequests]}
	err = c.search(ctx, traffic, r, families, goal)
	if err == nil {
		err = c.recommend(ctx, in, traffic, r, top)
	}
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return err
	}
	if r.trial != nil && drawing(cmd) {
		if err := writePictures(cmd, planPage(in, r, r.recommended())); err != nil {
			return err
		}
	}
	if err := c.answer(cmd.Bool("json"), r, func() { c.printPlan(r) }); err != nil {
		return err
	}
	switch {
	case interrupted:
		return errors.New("interrupted: this is what was tried until then")
	case r.Policy == "":
		return errNo
	}
	return nil
}

// search looks for a limit of each family, until ctx is done.
func (c *command) search(ctx context.Context, t *plan.Traffic, r *planReport, families []plan.Family, goal plan.Goal) error {
	for _, f := range families {
		if isTerminal(c.std.err) {
			fmt.Fprintf(c.std.err, "\r\x1b[Ktrying %s", f.Algorithm)
			defer fmt.Fprint(c.std.err, "\r\x1b[K")
		}
		results, err := search(ctx, t, f, goal)
		for _, result := range results {
			found := newPlanReport(result, t)
			found.Unfinished = err != nil
			r.Plans = append(r.Plans, found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// planned reads what is to be looked for.
func planned(cmd *cli.Command) ([]plan.Family, plan.Goal, error) {
	goal := plan.Goal{Percent: cmd.Float("clients")}
	if cmd.IsSet("requests") {
		if cmd.IsSet("clients") {
			return nil, goal, usagef("-clients and -requests: it is one of them that a limit is looked for by")
		}
		goal = plan.Goal{Percent: cmd.Float("requests"), OfRequests: true}
	}
	if !(goal.Percent >= 0 && goal.Percent < 100) {
		return nil, goal, usagef("%v %%: it must be at least 0 and less than 100", goal.Percent)
	}
	period := cmd.Duration("per")
	if period < time.Millisecond || period > 366*24*time.Hour {
		return nil, goal, usagef("-per %v: it must be between 1ms and a year", period)
	}
	algorithms := plan.Algorithms
	if names := cmd.StringSlice("algorithm"); len(names) > 0 {
		algorithms = nil
		for _, name := range names {
			a, err := plan.ParseAlgorithm(name)
			if err != nil {
				return nil, goal, usageError{err}
			}
			algorithms = append(algorithms, a)
		}
	}
	var families []plan.Family
	for _, a := range algorithms {
		families = append(families, plan.Family{Algorithm: a, Period: period})
	}
	return families, goal, nil
}

// spool reads the logs, and keeps their rows.
func (c *command) spool(ctx context.Context, in *input) (*plan.Traffic, *planReport, error) {
	spool, err := plan.NewSpool()
	if err != nil {
		return nil, nil, err
	}
	tally := replay.NewTally(in.key, in.fields)
	var admitted []bool
	summary, interrupted, err := in.read(ctx, func(rows []uint64) error {
		for len(admitted) < len(rows)/2 {
			admitted = append(admitted, true)
		}
		tally.Add(rows, admitted[:len(rows)/2])
		return spool.Add(rows)
	})
	if err == nil {
		err = interrupted
	}
	if err != nil {
		spool.Close()
		return nil, nil, err
	}
	f := tally.Figures(0, in.name)
	return &plan.Traffic{Spool: spool, Client: in.key, Fields: in.fields, Requests: int(f.Requests), Clients: f.Clients, Busiest: f.Busiest},
		&planReport{report: *newReport(in, summary, nil, 0), Key: in.key.String(), Requests: int(f.Requests), Clients: f.Clients}, nil
}

// search finds what a family has for a goal, and of a token bucket the slowest
// refill with that burst.
func search(ctx context.Context, t *plan.Traffic, f plan.Family, goal plan.Goal) ([]plan.Result, error) {
	result, err := plan.Search(ctx, t, f, goal)
	if err != nil || f.Algorithm != weir.AlgorithmTokenBucket || !result.Found {
		return []plan.Result{result}, err
	}
	f.Burst = result.Best.Count
	slower, err := plan.Search(ctx, t, f, goal)
	if err != nil || slower.Best.Count == result.Best.Count {
		return []plan.Result{result}, err
	}
	return []plan.Result{result, slower}, nil
}

// A planReport is what plan found. It is printed as JSON as it is.
type planReport struct {
	report
	Key      string        `json:"key"`
	Requests int           `json:"requests"`
	Clients  int           `json:"clients"`
	Goal     goalReport    `json:"goal"`
	Plans    []planFound   `json:"plans"`
	Policy   string        `json:"policy"` // the one that is recommended
	Go       string        `json:"go"`
	trial    *policyReport // of that
}

type goalReport struct {
	Percent float64 `json:"percent"`
	Of      string  `json:"of"`
}

// A planFound is what was found for an algorithm.
type planFound struct {
	Algorithm     string       `json:"algorithm"`
	Policy        string       `json:"policy,omitempty"` // none if no limit does
	Go            string       `json:"go,omitempty"`
	Unfinished    bool         `json:"unfinished,omitempty"` // it was interrupted
	Count         int          `json:"count,omitempty"`
	Denied        int          `json:"denied"`
	RejectionRate float64      `json:"rejection_rate"`
	ClientsDenied int          `json:"clients_denied"`
	ClientsShare  float64      `json:"clients_denied_percent"`
	Curve         []curvePoint `json:"curve"`

	policy weir.Policy
	family plan.Family
}

type curvePoint struct {
	Count         int     `json:"count"`
	Denied        int     `json:"denied"`
	RejectionRate float64 `json:"rejection_rate"`
	ClientsDenied int     `json:"clients_denied"`
	ClientsShare  float64 `json:"clients_denied_percent"`
}

// recommended returns the first that was found.
func (r *planReport) recommended() *planFound {
	i := slices.IndexFunc(r.Plans, func(p planFound) bool { return p.Policy != "" })
	if i < 0 {
		return nil
	}
	return &r.Plans[i]
}

func newPlanReport(r plan.Result, t *plan.Traffic) planFound {
	point := func(p plan.Point) curvePoint {
		return curvePoint{p.Count, p.Denied, share(p.Denied, t.Requests), p.ClientsDenied, share(p.ClientsDenied, t.Clients)}
	}
	p := planFound{Algorithm: r.Family.Algorithm.String(), family: r.Family}
	if r.Found {
		best := point(r.Best)
		p.policy = r.Family.Policy(r.Best.Count)
		p.Policy, p.Go, p.Count = p.policy.String(), explain.Go(p.policy), best.Count
		p.Denied, p.RejectionRate, p.ClientsDenied, p.ClientsShare = best.Denied, best.RejectionRate, best.ClientsDenied, best.ClientsShare
	}
	for _, q := range r.Curve {
		p.Curve = append(p.Curve, point(q))
	}
	return p
}

func share(n, all int) float64 {
	if n == 0 {
		return 0
	}
	return 100 * float64(n) / float64(all)
}

// recommend replays the traffic through the first policy that was found, for the
// clients that it denies.
func (c *command) recommend(ctx context.Context, in *input, t *plan.Traffic, r *planReport, top int) error {
	p := r.recommended()
	if p == nil {
		return nil
	}
	r.Policy, r.Go = p.Policy, p.Go
	trials := replay.NewTrials([]replay.Candidate{replay.New(p.policy, in.key)}, in.key, in.fields)
	err := t.Spool.Each(ctx, 1+len(in.fields), func(rows []uint64) { replay.Each(trials, rows) })
	if err == nil {
		r.report.Policies = []policyReport{newPolicyReport(in, trials[0], top)}
		r.trial = &r.report.Policies[0]
	}
	return err
}

func (c *command) printPlan(r *planReport) {
	c.printSummary(&r.report)
	fmt.Fprintf(c.out, "%s clients by %s\n\nThe smallest limits that deny something to at most %v %% of %s:\n\n",
		number(r.Clients), r.Key, r.Goal.Percent, r.Goal.Of)
	rows := [][]string{{"policy", "clients denied", "requests denied"}}
	for _, p := range r.Plans {
		if p.Policy == "" {
			rows = append(rows, []string{p.Algorithm, map[bool]string{false: "none does", true: "interrupted"}[p.Unfinished]})
			continue
		}
		rows = append(rows, []string{p.Policy, of(p.ClientsDenied, r.Clients), of(p.Denied, r.Requests)})
	}
	writeColumns(c.out, "lrr", rows)
	if r.trial == nil {
		return
	}
	c.printCurve(r, r.recommended())
	fmt.Fprintf(c.out, "\nRecommended: %s\nIn Go:       %s\n", r.Policy, r.Go)
	if n := r.trial.ClientsDenied; n > 0 {
		fmt.Fprintf(c.out, "It takes for abuse what it denies: requests of %s.\n", explain.Plural(n, "client"))
	}
	c.printWorst(r.trial)
}

// printCurve prints the trade-off: the round counts, and the best with its neighbour.
func (c *command) printCurve(r *planReport, p *planFound) {
	fmt.Fprintf(c.out, "\nWhat other limits of a %s per %s would have denied:\n\n", p.Algorithm, span(p.family.Period))
	rows := [][]string{{"limit", "clients denied", "", "requests denied", "", ""}}
	for _, q := range p.Curve {
		mark := ""
		switch {
		case q.Count == p.Count:
			mark = "<- the smallest that does"
		case q.Count != p.Count-1 && !round(q.Count):
			continue
		}
		rows = append(rows, []string{number(q.Count), number(q.ClientsDenied), percent(q.ClientsShare), number(q.Denied), percent(q.RejectionRate), mark})
	}
	writeColumns(c.out, "rrrrrl", rows)
}

// round reports whether a number is 1, 2 or 5 and zeros.
func round(n int) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1 || n == 2 || n == 5
}
