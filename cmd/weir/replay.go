package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/goweir/weir/cmd/weir/internal/accesslog"
	"github.com/goweir/weir/cmd/weir/internal/replay"
	"github.com/urfave/cli/v3"
)

func (c *command) replay() *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "say what policies would have done to the requests of a log",
		ArgsUsage: "[LOG ...]",
		Description: `   weir replay -policy 'token-bucket 10/s burst 20' access.log
   weir replay -policy 10/s -policy 'sliding-window 100/m' -html report.html access.log access.log.1 access.log.2.gz
   weir replay -key header:X-Api-Key -policy 1000/h -names time=ts requests.json
   zcat access.log.*.gz | weir replay -policy 'address: 10/s; path: 100/s; global: 500/s' -json

` + aboutInput + `

Of each policy it prints:

   requests, denied  how many there were, and how many it would have denied. Who is denied is taken to ask again only
                     if the log says so: what people would have done instead, no log knows.
   rejection rate    the denied, in percent of the requests
   clients           who made a request; clients denied: those of them of whom at least one was denied
   worst client      the one of whom most requests were denied
   longest denial    the longest span from one denial to another of one client without an admission in between, to 0.01 s
   median, p99       the share of its own requests that was denied of the client in the middle, and of the one that
                     is worse off than 99 of 100 (nearest rank; 0 % says that nobody up to there was denied)
   peak clients      the most that the limiters held at once: who is full again is forgotten once a minute, by the log's
                     clock (after 512 requests, if those take longer); peak memory: what those take

` + exitCodes,
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{Name: "policy", Usage: "a `POLICY` to try; may be given more than once"},
			&cli.IntFlag{Name: "top", Value: 10, Usage: "how many of the worst clients to name"},
		}, inputFlags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error { return c.runReplay(ctx, cmd) },
	}
}

func (c *command) runReplay(ctx context.Context, cmd *cli.Command) error {
	key, err := keyFlag(cmd)
	if err != nil {
		return err
	}
	tried, err := candidates(cmd.StringSlice("policy"), key)
	if err != nil {
		return err
	}
	if len(tried) == 0 {
		return usagef("no policy: say which, as in -policy 'token-bucket 10/s burst 20', or ask weir plan for one")
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
	if drawing(cmd) {
		trials = append(trials, replay.NewTrials(scaled(tried), key, in.fields)...)
	}
	summary, interrupted, err := in.read(ctx, func(rows []uint64) error {
		replay.Each(trials, rows)
		return nil
	})
	if err != nil {
		return err
	}
	r := newReport(in, summary, trials[:len(tried)], top)
	if interrupted == nil && drawing(cmd) {
		if err := writePictures(cmd, replayPage(in, r, trials[len(tried):])); err != nil {
			return err
		}
	}
	if err := c.answer(cmd.Bool("json"), r, func() { c.printReport(r) }); err != nil {
		return err
	}
	return interrupted
}

// answer prints a report as JSON or as text.
func (c *command) answer(asJSON bool, r any, asText func()) error {
	if asJSON {
		return json.NewEncoder(c.out).Encode(r)
	}
	asText()
	return nil
}

// scaled returns what a trade-off curve of each candidate needs.
func scaled(tried []replay.Candidate) []replay.Candidate {
	var all []replay.Candidate
	for _, c := range tried {
		for _, factor := range replay.Scales {
			all = append(all, c.Scaled(factor))
		}
	}
	return all
}

// A report is what replay found. It is printed as JSON as it is.
type report struct {
	Lines     int            `json:"lines"`
	Skipped   int            `json:"skipped"`
	Reordered int            `json:"reordered"`
	First     time.Time      `json:"first,omitzero"`
	Last      time.Time      `json:"last,omitzero"`
	Policies  []policyReport `json:"policies"`

	firstSkip *accesslog.InputError
}

// A policyReport is what a policy would have done. Rates and shares are in percent.
type policyReport struct {
	Policy        string         `json:"policy"`
	Key           string         `json:"key"`
	Requests      uint64         `json:"requests"`
	Denied        uint64         `json:"denied"`
	RejectionRate float64        `json:"rejection_rate"`
	Unkeyed       uint64         `json:"unkeyed"`
	Clients       int            `json:"clients"`
	ClientsDenied int            `json:"clients_denied"`
	LongestDenial float64        `json:"longest_denial_seconds"`
	MedianShare   float64        `json:"median_share_denied"`
	P99Share      float64        `json:"p99_share_denied"`
	PeakClients   int            `json:"peak_clients"`
	PeakBytes     int            `json:"peak_bytes"`
	PeakBytesMost int            `json:"peak_bytes_most"`
	Worst         []clientReport `json:"worst"`

	worst   string // the worst client
	trial   *replay.Trial
	figures replay.Figures
}

type clientReport struct {
	Client   string  `json:"client"`
	Requests uint32  `json:"requests"`
	Denied   uint32  `json:"denied"`
	Share    float64 `json:"share_denied"`
}

func newReport(in *input, s accesslog.Summary, trials []*replay.Trial, top int) *report {
	r := &report{Lines: s.Lines, Skipped: s.Skipped, Reordered: s.Reordered, firstSkip: s.FirstSkip}
	if s.First <= s.Last {
		r.First, r.Last = time.Unix(0, s.First).UTC(), time.Unix(0, s.Last).UTC()
	}
	for _, t := range trials {
		r.Policies = append(r.Policies, newPolicyReport(in, t, top))
	}
	return r
}

func newPolicyReport(in *input, t *replay.Trial, top int) policyReport {
	f := t.Tally.Figures(max(top, 1), in.name)
	peak := t.Decider.Peak()
	p := policyReport{
		Policy: t.Text, Key: client(t, in).String(),
		Requests: f.Requests, Denied: f.Denied, RejectionRate: f.RejectionRate, Unkeyed: f.Unkeyed,
		Clients: f.Clients, ClientsDenied: f.ClientsDenied, LongestDenial: f.Longest.Seconds(),
		MedianShare: f.Median, P99Share: f.P99, PeakClients: peak.Clients, PeakBytes: peak.Bytes, PeakBytesMost: peak.MostBytes,
		trial: t, figures: f, Worst: []clientReport{},
	}
	if len(f.Worst) > 0 {
		p.worst = in.name(f.Worst[0].Key)
	}
	for _, c := range f.Worst[:min(top, len(f.Worst))] {
		p.Worst = append(p.Worst, clientReport{in.name(c.Key), c.Requests, c.Denied, c.Share()})
	}
	return p
}

func client(t *replay.Trial, in *input) accesslog.Field { return t.Client(in.key) }

// printSummary says what was read.
func (c *command) printSummary(r *report) {
	fmt.Fprintf(c.out, "%s lines, from %s to %s\n", number(r.Lines), r.First.Format(timeFormat), r.Last.Format(timeFormat+" MST"))
	if r.Reordered > 0 {
		fmt.Fprintf(c.out, "%s came late and were put in order\n", number(r.Reordered))
	}
	if r.Skipped > 0 {
		fmt.Fprintf(c.out, "%s skipped, the first at %v\n", number(r.Skipped), r.firstSkip)
	}
}

const timeFormat = "2 Jan 2006 15:04:05"

func (c *command) printReport(r *report) {
	c.printSummary(r)
	fmt.Fprintln(c.out)
	heads := []string{""}
	for i := range r.Policies {
		head := r.Policies[i].Policy
		if len(r.Policies) > 1 {
			fmt.Fprintf(c.out, "%d  %s\n", i+1, printable(head))
			head = fmt.Sprint(i + 1)
		}
		heads = append(heads, printable(head))
	}
	if len(r.Policies) > 1 {
		fmt.Fprintln(c.out)
	}
	rows := [][]string{heads}
	for _, f := range figureRows {
		row := []string{f.name}
		for i := range r.Policies {
			row = append(row, f.of(&r.Policies[i]))
		}
		rows = append(rows, row)
	}
	align := []byte("l")
	for range r.Policies {
		align = append(align, 'r')
	}
	writeColumns(c.out, string(align), rows)
	if c.terminal {
		c.printSparks(r)
	}
	for i := range r.Policies {
		c.printWorst(&r.Policies[i])
	}
}

// figureRows are what is printed of each policy.
var figureRows = []struct {
	name string
	of   func(*policyReport) string
}{
	{"requests", func(p *policyReport) string { return number(p.Requests) }},
	{"denied", func(p *policyReport) string { return number(p.Denied) }},
	{"rejection rate", func(p *policyReport) string { return percent(p.RejectionRate) }},
	{"clients", func(p *policyReport) string { return number(p.Clients) }},
	{"clients denied", func(p *policyReport) string { return of(p.ClientsDenied, p.Clients) }},
	{"worst client", func(p *policyReport) string {
		if p.ClientsDenied == 0 {
			return "none"
		}
		return p.worst
	}},
	{"longest denial", func(p *policyReport) string { return span(p.figures.Longest) }},
	{"median client was denied", func(p *policyReport) string { return percent(p.MedianShare) }},
	{"p99 client was denied", func(p *policyReport) string { return percent(p.P99Share) }},
	{"peak clients held", func(p *policyReport) string { return number(p.PeakClients) }},
	{"peak memory", func(p *policyReport) string {
		if p.PeakBytesMost > p.PeakBytes {
			return size(p.PeakBytes) + " to " + size(p.PeakBytesMost)
		}
		return size(p.PeakBytes)
	}},
}

// printSparks draws requests and denials over time.
func (c *command) printSparks(r *report) {
	fmt.Fprintln(c.out)
	for i := range r.Policies {
		t := r.Policies[i].trial.Tally.Timeline()
		step := max(1, (len(t.Bins)+59)/60)
		var requests, denied []float64
		for j, b := range t.Bins {
			if j%step == 0 {
				requests, denied = append(requests, 0), append(denied, 0)
			}
			requests[len(requests)-1] += float64(b.Requests)
			denied[len(denied)-1] += float64(b.Denied)
		}
		if i == 0 {
			fmt.Fprintf(c.out, "requests  %s\n", spark(requests))
		}
		fmt.Fprintf(c.out, "denied %d  %s\n", i+1, spark(denied))
	}
}

func (c *command) printWorst(p *policyReport) {
	if len(p.Worst) == 0 {
		return
	}
	fmt.Fprintf(c.out, "\nDenied most by %s:\n\n", printable(p.Policy))
	rows := [][]string{{p.Key, "requests", "denied", "share"}}
	for _, w := range p.Worst {
		rows = append(rows, []string{w.Client, number(w.Requests), number(w.Denied), percent(w.Share)})
	}
	writeColumns(c.out, "lrrr", rows)
}
