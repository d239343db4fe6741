package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goweir/weir/cmd/weir/internal/load"
	"github.com/urfave/cli/v3"
)

func (c *command) load() *cli.Command {
	return &cli.Command{
		Name:  "load",
		Usage: "see whether a server keeps to the quota that it advertises",
		Description: `   weir load -url http://127.0.0.1:8080/hello -rate 200 -for 10s
   weir load -url http://localhost:8080/ -header 'X-Api-Key: k-ann'

It asks a server of this machine so often; of another one only with -really, and then ask its owner first. When it is
denied, with 429 or with 503 and Retry-After, it stays away for as long as it is told, and then sends one request alone
before it goes on. At most 64 requests are under way at once, redirects are not followed, and nothing runs for more than an hour.

It reads RateLimit-Policy as in draft-ietf-httpapi-ratelimit-headers-11. A quota of q in w seconds is broken when more than
(k + 1) q requests were sent and admitted within k w seconds, for some k: no way of counting allows that. It names the span
that came closest to that. If the server advertises nothing, there is nothing to break.

` + exitCodes,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "url", Required: true, Usage: "what to ask for: `http://127.0.0.1:8080/`"},
			&cli.IntFlag{Name: "rate", Value: 100, Usage: "`REQUESTS` a second, up to 10000"},
			&cli.DurationFlag{Name: "for", Value: 10 * time.Second, Usage: "how long, up to 1h"},
			&cli.StringFlag{Name: "method", Value: "GET", Usage: "of the requests"},
			&cli.StringSliceFlag{Name: "header", Usage: "a field to send, as `'Name: value'`; may be given more than once"},
			&cli.BoolFlag{Name: "really", Usage: "ask a server that is not of this machine"},
			&cli.BoolFlag{Name: "json", Usage: "print one object of JSON, for programs"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error { return c.runLoad(ctx, cmd) },
	}
}

func (c *command) runLoad(ctx context.Context, cmd *cli.Command) error {
	o, err := loadOptions(cmd)
	if err != nil {
		return err
	}
	result := load.Run(ctx, o)
	r := newLoadReport(o, result)
	if r.Sent > 0 && r.Failed == r.Sent {
		return fmt.Errorf("no answer: %w", result.Answers[0].Err)
	}
	if err := c.answer(cmd.Bool("json"), r, func() { c.printLoad(r) }); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: this is what was seen until then")
	case !r.Kept:
		return errNo
	}
	return nil
}

func loadOptions(cmd *cli.Command) (load.Options, error) {
	o := load.Options{
		Method: cmd.String("method"), URL: cmd.String("url"), Rate: cmd.Int("rate"), For: cmd.Duration("for"), Header: http.Header{},
		Client: &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: 64, Proxy: http.ProxyFromEnvironment},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	u, err := url.Parse(o.URL)
	switch {
	case cmd.Args().Present():
		return o, usagef("%q: load takes no arguments but flags", cmd.Args().First())
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return o, usagef("-url %q: it is as http://127.0.0.1:8080/", o.URL)
	case !loopback(u.Hostname()) && !cmd.Bool("really"):
		return o, usagef("-url %q: %s is not this machine; with -really it is asked all the same", o.URL, u.Hostname())
	case o.Rate < 1 || o.Rate > load.MostRate:
		return o, usagef("-rate %d: it must be between 1 and %d", o.Rate, load.MostRate)
	case o.For <= 0 || o.For > load.MostFor:
		return o, usagef("-for %v: it must be above 0 and at most %v", o.For, load.MostFor)
	}
	for _, field := range cmd.StringSlice("header") {
		name, value, ok := strings.Cut(field, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return o, usagef("-header %q: it is as 'Name: value'", field)
		}
		o.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if _, err := http.NewRequest(o.Method, o.URL, nil); err != nil {
		return o, usageError{err}
	}
	return o, nil
}

// loopback reports whether a host is this one, without asking anybody for its name.
func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// A loadReport is what load found. It is printed as JSON as it is.
type loadReport struct {
	URL        string        `json:"url"`
	Sent       int           `json:"sent"`
	Admitted   int           `json:"admitted"`
	Denied     int           `json:"denied"`
	Failed     int           `json:"failed"`
	MedianMS   float64       `json:"median_ms"`
	P99MS      float64       `json:"p99_ms"`
	Quotas     []quotaReport `json:"quotas"`
	Returns    int           `json:"returns"`
	Welcome    int           `json:"returns_admitted"`
	Kept       bool          `json:"kept"`
	rate       int
	length     time.Duration
	stopped    time.Duration
	firstError error
}

type quotaReport struct {
	Name     string  `json:"name"`
	Count    int64   `json:"count"`
	Window   float64 `json:"window_seconds"`
	Span     float64 `json:"span_seconds"`
	Admitted int64   `json:"admitted"`
	Most     int64   `json:"most"`
	Kept     bool    `json:"kept"`
}

func newLoadReport(o load.Options, result load.Result) *loadReport {
	r := &loadReport{URL: o.URL, Sent: len(result.Answers), Returns: result.Returns, Welcome: result.Welcome, Kept: true,
		Quotas: []quotaReport{}, rate: o.Rate, length: o.For, stopped: result.Stopped}
	var took []time.Duration
	for _, a := range result.Answers {
		switch {
		case a.Err != nil:
			if r.Failed++; r.firstError == nil {
				r.firstError = a.Err
			}
			continue
		case a.Denied:
			r.Denied++
		default:
			r.Admitted++
		}
		took = append(took, a.Received-a.Sent)
	}
	if n := len(took); n > 0 { // the nearest rank
		slices.Sort(took)
		r.MedianMS, r.P99MS = took[(n+1)/2-1].Seconds()*1000, took[(99*n+99)/100-1].Seconds()*1000
	}
	for _, q := range result.Quotas {
		check := result.Check(q)
		r.Quotas = append(r.Quotas, quotaReport{q.Name, q.Count, q.Window.Seconds(), check.Span.Seconds(), check.Admitted, check.Most, check.Kept()})
		r.Kept = r.Kept && check.Kept()
	}
	return r
}

func (c *command) printLoad(r *loadReport) {
	fmt.Fprintf(c.out, "%s, up to %d a second for %s\n\n", r.URL, r.rate, span(r.length))
	rows := [][]string{{"sent", number(r.Sent)}, {"admitted", number(r.Admitted)}, {"denied", number(r.Denied)}, {"failed", number(r.Failed)},
		{"median answer", fmt.Sprintf("%.1f ms", r.MedianMS)}, {"p99 answer", fmt.Sprintf("%.1f ms", r.P99MS)}}
	writeColumns(c.out, "lr", rows)
	if r.firstError != nil {
		fmt.Fprintf(c.out, "\nThe first failure: %v\n", r.firstError)
	}
	if r.stopped >= time.Second {
		fmt.Fprintf(c.out, "\nIt ended early: the server said to stay away for %s longer.\n", span(r.stopped.Round(time.Second)))
	}
	if r.Returns > 0 {
		fmt.Fprintf(c.out, "\n%d of %d first requests after the time that a denial told were admitted.\n", r.Welcome, r.Returns)
	}
	if len(r.Quotas) == 0 {
		fmt.Fprintln(c.out, "\nThe server advertises no quota in RateLimit-Policy: there is no promise to keep.")
		return
	}
	fmt.Fprintln(c.out)
	table := [][]string{{"quota", "requests", "window", "admitted", "in", "of at most", ""}}
	for _, q := range r.Quotas {
		kept := "kept"
		if !q.Kept {
			kept = "broken"
		}
		second := float64(time.Second)
		table = append(table, []string{printable(q.Name), number(int(q.Count)), span(time.Duration(q.Window * second)), number(int(q.Admitted)),
			span(time.Duration(q.Span * second)), number(int(q.Most)), kept})
	}
	writeColumns(c.out, "lrrrrrl", table)
	if r.Kept {
		fmt.Fprintln(c.out, "\nThe server keeps its promise.")
	} else {
		fmt.Fprintln(c.out, "\nThe server breaks its promise: it admitted more than it advertises.")
	}
}
