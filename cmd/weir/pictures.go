package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/goweir/weir/cmd/weir/internal/chart"
	"github.com/goweir/weir/cmd/weir/internal/replay"
	"github.com/urfave/cli/v3"
)

// drawing reports whether a command was asked for pictures.
func drawing(cmd *cli.Command) bool { return cmd.String("html") != "" || cmd.String("svg") != "" }

// writePictures writes what was asked for.
func writePictures(cmd *cli.Command, page chart.Page) error {
	if path := cmd.String("html"); path != "" {
		if err := writeFile(path, page.Write); err != nil {
			return err
		}
	}
	if path := cmd.String("svg"); path != "" {
		return writeFile(path, func(w io.Writer) error { return chart.WriteSVG(w, page.Pictures[0]) })
	}
	return nil
}

// hottest is how many clients a heat map shows.
const hottest = 20

// pictures draws what became of requests under a policy, over time and by client.
func (p *policyReport) pictures(in *input) []chart.Picture {
	t := p.trial.Tally.Timeline()
	line := chart.Timeline{Title: "Requests under " + printable(p.Policy), Start: t.Start, Width: t.Width}
	for _, b := range t.Bins {
		line.Requests, line.Denied = append(line.Requests, b.Requests), append(line.Denied, b.Denied)
	}
	heat := chart.Heat{Title: "Who was denied when by " + printable(p.Policy), Start: t.Start, Width: t.Width}
	for _, c := range p.trial.Tally.Figures(hottest, in.name).Worst {
		if bins := p.trial.Tally.Denials(c.Key); bins != nil {
			heat.Rows = append(heat.Rows, chart.HeatRow{Name: in.name(c.Key), Denied: bins})
		}
	}
	if len(heat.Rows) == 0 {
		return []chart.Picture{line}
	}
	return []chart.Picture{line, heat}
}

// page puts a report on a page.
func (r *report) page(title string) chart.Page {
	p := chart.Page{Title: title, Lines: []string{fmt.Sprintf("%s lines, from %s to %s UTC; %s were put in order, %s skipped",
		number(r.Lines), r.First.Format(timeFormat), r.Last.Format(timeFormat), number(r.Reordered), number(r.Skipped))}}
	heads := []string{""}
	for i := range r.Policies {
		heads = append(heads, printable(r.Policies[i].Policy))
	}
	p.Table = append(p.Table, heads)
	for _, f := range figureRows {
		row := []string{f.name}
		for i := range r.Policies {
			row = append(row, f.of(&r.Policies[i]))
		}
		p.Table = append(p.Table, row)
	}
	return p
}

// replayPage draws each policy, with the trade-off curve of its limits times some
// factors: scaled are the trials of those, in the order of the policies.
func replayPage(in *input, r *report, scaled []*replay.Trial) chart.Page {
	page := r.page("What " + policies(len(r.Policies)) + " would have done")
	for i := range r.Policies {
		p := &r.Policies[i]
		curve := chart.Curve{Title: "If the limits of " + printable(p.Policy) + " were others", Limit: "times the limits", Mark: -1}
		for j, factor := range replay.Scales {
			f := scaled[i*len(replay.Scales)+j].Tally.Figures(0, in.name)
			curve.Points = append(curve.Points, chart.Point{
				Limit: factor, Name: "× " + strconv.FormatFloat(factor, 'g', -1, 64),
				Clients: share(f.ClientsDenied, f.Clients), Requests: f.RejectionRate,
			})
			if factor == 1 {
				curve.Mark = j
			}
		}
		drawn := p.pictures(in)
		page.Pictures = append(page.Pictures, drawn[0], curve)
		page.Pictures = append(page.Pictures, drawn[1:]...)
	}
	return page
}

func policies(n int) string {
	if n == 1 {
		return "a policy"
	}
	return strconv.Itoa(n) + " policies"
}

// planPage draws the trade-off of the algorithm that is recommended, and what its
// policy would have done.
func planPage(in *input, r *planReport, p *planFound) chart.Page {
	page := r.report.page("A limit for this traffic: " + r.Policy)
	page.Lines = append(page.Lines, fmt.Sprintf("The smallest %s per %s that denies something to at most %v %% of %s. In Go: %s",
		p.Algorithm, span(p.family.Period), r.Goal.Percent, r.Goal.Of, r.Go))
	curve := chart.Curve{Title: fmt.Sprintf("What a %s per %s denies", p.Algorithm, span(p.family.Period)), Limit: "requests per " + span(p.family.Period), Mark: -1}
	for _, q := range p.Curve {
		if q.Count != p.Count && !round(q.Count) {
			continue
		}
		point := chart.Point{Limit: float64(q.Count), Name: p.family.Policy(q.Count).String(), Clients: q.ClientsShare, Requests: q.RejectionRate}
		if q.Count == p.Count {
			curve.Mark = len(curve.Points)
		}
		curve.Points = append(curve.Points, point)
	}
	page.Pictures = append([]chart.Picture{curve}, r.trial.pictures(in)...)
	return page
}

// comparePage draws both policies.
func comparePage(in *input, r *compareReport) chart.Page {
	page := r.report.page("One policy and another")
	page.Lines = append(page.Lines, fmt.Sprintf("They agree on %s of the requests; %s are newly denied and %s newly admitted, and %s newly denied something.",
		percent(r.Agreement), number(r.NewlyDenied), number(r.NewlyAdmitted), clientsAre(r.ClientsNewlyDenied)))
	for i := range r.Policies {
		page.Pictures = append(page.Pictures, r.Policies[i].pictures(in)...)
	}
	return page
}

func clientsAre(n int) string {
	if n == 1 {
		return "1 client is"
	}
	return number(n) + " clients are"
}
