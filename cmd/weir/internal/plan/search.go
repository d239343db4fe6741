package plan

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/goweir/weir/cmd/weir/internal/accesslog"
	"github.com/goweir/weir/cmd/weir/internal/replay"
)

// A Goal is how many may be denied: so many percent of clients, of whom each counts
// that is denied at least once, or of requests.
type Goal struct {
	Percent    float64
	OfRequests bool
}

// Traffic is the requests that limits are tried on.
type Traffic struct {
	Spool    *Spool
	Client   accesslog.Field
	Fields   []accesslog.Field
	Requests int
	Clients  int
	Busiest  int // requests of the client with the most
}

// A Point says what a limit denies.
type Point struct {
	Count         int // of the limit
	Denied        int // requests
	ClientsDenied int // who were denied at least once
}

// meets reports whether a point is one that a goal can accept.
func (g Goal) meets(t *Traffic, p Point) bool {
	if g.OfRequests {
		return 100*float64(p.Denied) <= g.Percent*float64(t.Requests)
	}
	return 100*float64(p.ClientsDenied) <= g.Percent*float64(t.Clients)
}

// A Result is what a search found.
type Result struct {
	Family Family
	Found  bool
	Best   Point   // the least count that meets the goal, if one does
	Curve  []Point // all that were tried, by count
}

// Search finds the least count of a family that meets a goal, by trying: first 1, 2,
// 5, 10, 20 and so on, until nobody is denied any more, and then what is between the
// last that does not meet it and the first that does, until they are neighbours.
//
//	low does not meet the goal, or is 0; high meets it; low < high
//
// A greater count never denies a client that a smaller one does not, so Best is the
// least for a goal of clients. Of requests there are traffics in which a greater
// count of a window denies some more; then it is one whose neighbour below does not
// meet the goal. If ctx is done, the Result has what was tried until then.
func Search(ctx context.Context, t *Traffic, f Family, g Goal) (Result, error) {
	r := Result{Family: f}
	for grid := steps(f.most(t.Busiest)); len(grid) > 0; {
		n := min(atOnce, len(grid))
		points, err := try(ctx, t, f, grid[:n])
		if err != nil {
			return r, err
		}
		r.Curve = append(r.Curve, points...)
		if grid = grid[n:]; points[n-1].Denied == 0 {
			break
		}
	}
	high := len(r.Curve) // the first from which on all meet the goal
	for high > 0 && g.meets(t, r.Curve[high-1]) {
		high--
	}
	if high == len(r.Curve) {
		return r, nil
	}
	r.Found, r.Best = true, r.Curve[high]
	low := 0
	if high > 0 {
		low = r.Curve[high-1].Count
	}
	return r, r.narrow(ctx, t, g, low)
}

// narrow tries what is between low and Best.
func (r *Result) narrow(ctx context.Context, t *Traffic, g Goal, low int) error {
	for r.Best.Count-low > 1 {
		points, err := try(ctx, t, r.Family, between(low, r.Best.Count))
		if err != nil {
			r.Found = false
			return err
		}
		for _, p := range slices.Backward(points) {
			if !g.meets(t, p) {
				low = p.Count
				break
			}
			r.Best = p
		}
		r.Curve = append(r.Curve, points...)
		slices.SortFunc(r.Curve, func(a, b Point) int { return cmp.Compare(a.Count, b.Count) })
	}
	return nil
}

// atOnce is how many counts are tried in one reading of the traffic.
const atOnce = 8

// steps returns 1, 2, 5, 10, 20, 50 and so on, up to the first that is at least n.
func steps(n int) []int {
	var all []int
	for unit := 1; ; unit *= 10 {
		for _, k := range [...]int{1, 2, 5} {
			all = append(all, k*unit)
			if k*unit >= n {
				return all
			}
		}
	}
}

// between returns up to atOnce counts between two, evenly.
func between(low, high int) []int {
	n := min(atOnce, high-low-1)
	all := make([]int, n)
	for i := range all {
		all[i] = low + (i+1)*(high-low)/(n+1)
	}
	return all
}

// A trial is one count that is tried.
type trial struct {
	decider  *replay.Decider
	verdicts []bool
	denied   int
	who      map[accesslog.Key]struct{}
}

// try finds out what some counts deny, each in a goroutine of its own.
func try(ctx context.Context, t *Traffic, f Family, counts []int) ([]Point, error) {
	width, column := 1+len(t.Fields), 1+slices.Index(t.Fields, t.Client)
	trials := make([]trial, len(counts))
	for i, n := range counts {
		d := replay.NewDecider(replay.New(f.Policy(n), t.Client), t.Fields)
		d.SweepRarely = true
		trials[i] = trial{decider: d, who: map[accesslog.Key]struct{}{}}
	}
	err := t.Spool.Each(ctx, width, func(rows []uint64) {
		var all sync.WaitGroup
		for i := range trials {
			all.Go(func() { trials[i].add(rows, width, column) })
		}
		all.Wait()
	})
	points := make([]Point, len(counts))
	for i := range trials {
		points[i] = Point{counts[i], trials[i].denied, len(trials[i].who)}
	}
	return points, err
}

func (t *trial) add(rows []uint64, width, column int) {
	t.verdicts = t.decider.Decide(rows, t.verdicts[:0])
	for i, ok := range t.verdicts {
		if !ok {
			t.denied++
			t.who[accesslog.Key(rows[i*width+column])] = struct{}{}
		}
	}
}
