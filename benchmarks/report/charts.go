package main

import (
	"time"

	"github.com/goweir/weir/benchmarks/cases"
)

// charts returns those for which there are figures.
func (r Results) charts() (charts []chart) {
	for _, s := range r.Speeds {
		c := chart{
			file:   s.Name,
			title:  s.Title,
			unit:   "ns a decision, medians: less is better",
			series: []series{{label: "one core"}, {label: "two cores"}},
		}
		for _, row := range s.Rows {
			c.names = append(c.names, row.By)
			c.series[0].values = append(c.series[0].values, median(row.Serial))
			c.series[1].values = append(c.series[1].values, median(row.Parallel))
		}
		charts = append(charts, c)
	}
	if len(r.Memory) > 0 {
		charts = append(charts, r.memoryChart())
	}
	if len(r.Latency) > 0 {
		charts = append(charts, r.latencyChart())
	}
	if len(r.Admitted) > 0 {
		charts = append(charts, r.admittedChart())
	}
	return charts
}

func (r Results) memoryChart() chart {
	c := chart{file: "memory", title: "Memory of a client", unit: "bytes of heap, with slack: less is better"}
	for i, clients := range r.Memory[0].Clients {
		s := series{label: cases.Count(clients)}
		for _, m := range r.Memory {
			s.values = append(s.values, m.Bytes[i])
		}
		c.series = append(c.series, s)
	}
	for _, m := range r.Memory {
		c.names = append(c.names, m.By)
	}
	return c
}

func (r Results) latencyChart() chart {
	c := chart{
		file:   "latency",
		title:  "The slowest decisions",
		unit:   "µs, p99.99: less is better",
		series: []series{{label: "99.99 % are faster"}},
	}
	for _, l := range r.Latency {
		c.names = append(c.names, l.By+": "+l.When)
		c.series[0].values = append(c.series[0].values, float64(median(l.P9999))/float64(time.Microsecond))
	}
	return c
}

func (r Results) admittedChart() chart {
	c := chart{
		file:   "admitted",
		title:  "Admitted under contention",
		unit:   "percent of burst + rate x time: above 100 is too many",
		series: []series{{label: "the most of all tries"}},
	}
	for _, a := range r.Admitted {
		admitted, limit := a.most()
		c.names = append(c.names, a.By)
		c.series[0].values = append(c.series[0].values, 100*float64(admitted)/float64(limit))
	}
	return c
}
