package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goweir/weir/benchmarks/cases"
	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/measure"
)

// redis measures the limiters that keep their states in Redis, each case with a
// server of its own.
func (r *runner) redis() (Results, error) {
	r.results = Results{Machine: thisMachine(), Quick: r.quick, Rounds: r.rounds}
	begin, all := time.Now(), cases.InRedis()
	for i, in := range all {
		addr, stop, err := startRedis()
		if err != nil {
			return r.results, err
		}
		c := in(addr, r.million)
		if r.match.MatchString(c.Name) {
			r.progress.section(c.Name, i+1, len(all))
			r.results.Redis, _ = redisVersion(addr)
			r.results.Speeds = append(r.results.Speeds, r.redisSpeed(c))
		}
		stop()
	}
	r.progress.end()
	r.results.Took = time.Since(begin)
	return r.results, nil
}

// redisSpeed measures a case: in each round every contender has its turn. Who begins
// changes.
func (r *runner) redisSpeed(c cases.Case) Speed {
	speed := Speed{Name: c.Name, Title: c.Title, About: c.About}
	held := make([]contender.Limiter, len(c.Contenders))
	for i, by := range c.Contenders {
		r.progress.step(cases.Count(c.Held) + " clients of " + by.Name)
		speed.Rows = append(speed.Rows, SpeedRow{By: by.Name})
		held[i] = c.Start(by)
		defer held[i].Close()
	}
	// A turn is long beside what the last of the requests take that are under way at its end.
	budget := measure.Budget{Time: 3 * r.pass, Chunk: 16}
	for round := range r.warmups + r.rounds {
		for i := range held {
			i = (i + round) % len(held)
			r.progress.step(fmt.Sprintf("round %d, %s", round-r.warmups+1, c.Contenders[i].Name))
			result := measure.Ask(held[i], c.Sources(c.Askers, uint64(round)), budget)
			if round >= r.warmups {
				speed.Rows[i].Parallel = append(speed.Rows[i].Parallel, result.NsPerOp)
			}
		}
	}
	return speed
}

func (r Results) redisGoals() (goals []goal) {
	one, denied := r.speed("redis-one-allowed"), r.speed("redis-one-denied")
	many, manyDenied := r.speed("redis-many-allowed"), r.speed("redis-many-denied")
	for _, s := range []*Speed{one, denied, many, manyDenied} {
		if s != nil {
			goals = append(goals,
				atLeast(1, "", s.Title+": redis_rate / weir", parallel(s, "redis_rate", "weir")),
				atLeast(1, "", s.Title+": the best peer / weir", parallel(s, s.bestInRedis(), "weir")),
				atLeast(2, "", s.Title+": redis_rate / weir with rueidis", parallel(s, "redis_rate", "weir, rueidis")))
		}
	}
	return append(goals,
		atLeast(20, "", "One key, allowed: redis_rate / weir with leases", parallel(one, "redis_rate", "weir, leases")),
		atLeast(50, "", "One key, denied: redis_rate / weir with the deny cache", parallel(denied, "redis_rate", "weir, deny cache")),
		atLeast(50, "", "Many keys, denied: redis_rate / weir with the deny cache", parallel(manyDenied, "redis_rate", "weir, deny cache")),
		atMost(1.3, "", "One key, allowed: All of three / one", parallel(one, "weir, All of three", "weir")),
		atMost(1.3, "", "the same with rueidis", parallel(one, "weir, All of three, rueidis", "weir, rueidis")))
}

// bestInRedis returns the fastest that is not weir.
func (s *Speed) bestInRedis() string {
	rank := func(r SpeedRow) float64 {
		if isWeir(r.By) {
			return math.Inf(1)
		}
		return median(r.Parallel)
	}
	return slices.MinFunc(s.Rows, func(a, b SpeedRow) int { return cmp.Compare(rank(a), rank(b)) }).By
}

// redisMarkdown returns redislimit/BENCHMARKS.md.
func (r Results) redisMarkdown() string {
	p := &page{}
	p.line("# Benchmarks of redislimit\n")
	if r.Quick {
		p.line("**A trial run with few clients and no repetition: the figures mean nothing.**\n")
	}
	p.line("redislimit beside others that keep their states in Redis: 64 goroutines ask one redis-server on the same machine.")
	p.line("redis_rate's token buckets are a script, in one round trip. weir's are a function, and a call of it decides for all who have")
	p.line("waited for one of four others to end. ulule's limit is a fixed window: its script increments a number. throttled reads, and")
	p.line("writes what it has computed if nobody else has meanwhile: a denial is one round trip without a script, an admission")
	p.line("two, or more where many race for a key.")
	goalRows(p, r.redisGoals())
	p.line("\nRatios are of times, and medians of the rounds' ratios: how many times as many decisions the second makes.")
	for _, s := range r.Speeds {
		p.heading(s.Title)
		p.line("%s\n", s.About)
		p.header("", "decisions a second", "/ redis_rate")
		for _, row := range s.Rows {
			p.row(row.By, fmt.Sprintf("%.0f", 1e9/median(row.Parallel)), times(parallel(&s, "redis_rate", row.By)))
		}
	}
	r.redisConditions(p)
	return p.String()
}

func (r Results) redisConditions(p *page) {
	p.heading("How it was measured")
	p.line("| | |\n|---|---|")
	r.Machine.rows(p)
	p.row("Redis", r.Redis+", one thread, on the same cores")
	p.row("rounds", fmt.Sprintf("%d, in %v", r.Rounds, r.Took.Round(time.Second)))
	p.line("\nThe figures are medians. In each round every contender has its turn. All who use go-redis have the same options")
	p.line("of it, the default but for ContextTimeoutEnabled; rueidis has one connection, and lets requests wait up to 20 µs")
	p.line("for others. Over a network rather than on one machine, round trips are longer for all of them.\n")
	p.line("```sh\ngo run -C benchmarks ./report -redis    # this page\n```")
	p.heading("Contenders")
	p.line("| name | module | used as |\n|---|---|---|")
	list := append(contender.InRedis(""), contender.WithLeases(""), contender.WithDenyCache("", 1))
	for _, c := range append(list, contender.AllInRedis("")...) {
		p.row(c.Name, r.Machine.versionOf(c), c.How)
	}
}

func (r Results) writeRedis(folder string) error {
	if err := r.writeRaw(filepath.Join(folder, chartFolder), "redis.json"); err != nil {
		return err
	}
	file := filepath.Join(folder, "redislimit", "BENCHMARKS.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(r.redisMarkdown()), 0o644)
}
