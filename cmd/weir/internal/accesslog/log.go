package accesslog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir/cmd/weir/internal/order"
)

// Lateness is by how much a line may be older than one before it.
const Lateness = time.Hour

// MaxSkipped is the share of lines that need not be lines of a log.
const MaxSkipped = 0.05

// Options say how logs are read.
type Options struct {
	Fields   []Field         // what a row has keys for
	Format   Format          // Auto: each file's first lines tell
	Names    Names           // of the parts of lines in JSON and CSV
	Lenient  bool            // lines that are too long, too late or too many that do not parse are left out
	Stdin    io.Reader       // for the path Stdin
	Progress func(bytes int) // is told of each read, by one goroutine at a time
}

// A Log is some files, read as one.
type Log struct {
	options Options
	sources []*source
	texts   texts
	size    int64
}

// Open looks at the beginning of each file. What it refuses is an InputError.
func Open(paths []string, o Options) (*Log, error) {
	l := &Log{options: o, texts: newTexts()}
	progress := o.Progress
	o.Progress = nil // of reading twice what begins a file
	for _, path := range paths {
		s, err := newSource(path, &o)
		if err != nil {
			return nil, err
		}
		if s != nil {
			l.sources = append(l.sources, s)
			l.size += s.size
		}
	}
	l.options.Progress = progress
	if len(l.sources) == 0 {
		return nil, &InputError{File: paths[0], Err: errors.New("no lines: an access log has one for each request")}
	}
	slices.SortStableFunc(l.sources, func(a, b *source) int { return cmp.Compare(a.first, b.first) })
	return l, nil
}

// Size returns how many bytes are to be read, 0 if that is not known.
func (l *Log) Size() int64 {
	for _, s := range l.sources {
		if s.size == 0 {
			return 0
		}
	}
	return l.size
}

// A Summary is what was read.
type Summary struct {
	Lines       int         // but for blank ones
	Skipped     int         // of them: what did not parse
	FirstSkip   *InputError // the first of those
	Reordered   int         // lines that came after one of the same file that was written later
	First, Last int64       // when the first and the last were written, in nanoseconds since 1970
}

// Read calls emit with rows of all lines, in order of time, those of the same
// instant as they were read. A row is the time in nanoseconds since 1970 and then a
// Key for each of the fields; rows stand one after another, and are good until emit
// returns. If ctx is done, emit gets what was read until then, and Read returns
// ctx's error with a Summary of that. Read may be called once.
func (l *Log) Read(ctx context.Context, emit func(rows []uint64) error) (Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sorter := order.New(1+len(l.options.Fields), emit)
	defer sorter.Close()
	r := reading{log: l, sorter: sorter, summary: Summary{First: math.MaxInt64, Last: math.MinInt64}}
	var workers sync.WaitGroup
	defer workers.Wait()
	ordered, free := l.start(ctx, &workers)
	var err error
	for k := range ordered {
		<-k.done
		if err == nil {
			if err = r.consume(k); err != nil {
				cancel(err)
			}
		}
		free <- k
	}
	if err == nil {
		err = sorter.Flush()
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && !l.options.Lenient && float64(r.summary.Skipped) > MaxSkipped*float64(r.summary.Lines) {
		err = &InputError{r.summary.FirstSkip.File, r.summary.FirstSkip.Line, fmt.Errorf("%w; so it is with %d of %d lines, more than %v %%: -lenient leaves them out",
			r.summary.FirstSkip.Err, r.summary.Skipped, r.summary.Lines, 100*MaxSkipped)}
	}
	return r.summary, err
}

// start reads and parses in goroutines of workers. Chunks come in the order of the
// files, parsed or not yet; whoever receives them sends them back to free.
func (l *Log) start(ctx context.Context, workers *sync.WaitGroup) (ordered <-chan *chunk, free chan<- *chunk) {
	parsers := runtime.GOMAXPROCS(0)
	most := 3 * parsers // so many are under way
	pool, queue, work := make(chan *chunk, most), make(chan *chunk, most), make(chan *chunk, most)
	for range most {
		pool <- &chunk{data: make([]byte, 0, chunkSize), done: make(chan struct{}, 1)}
	}
	for range parsers {
		workers.Go(func() {
			p := newLineParser(&l.options, l.texts.hasher)
			for k := range work {
				p.parse(k)
				k.done <- struct{}{}
			}
		})
	}
	workers.Go(func() {
		c := cutter{options: &l.options, pending: slices.Clone(l.sources)}
		defer c.close()
		defer close(queue)
		defer close(work)
		for ctx.Err() == nil {
			k := <-pool
			k.reset()
			if !c.next(k) {
				return
			}
			failed := k.err != nil
			queue <- k
			work <- k
			if failed {
				return
			}
		}
	})
	return queue, pool
}

// A reading is one call of Read.
type reading struct {
	log     *Log
	sorter  *order.Sorter
	summary Summary
	newest  int64 // frontier
}

// consume takes the rows of a chunk, the chunks in order.
func (r *reading) consume(k *chunk) error {
	s := k.source
	if k.err != nil {
		if errors.As(k.err, new(*InputError)) {
			return k.err
		}
		return fmt.Errorf("%s: %w", s.name, k.err)
	}
	if k.long {
		s.lines++
		err := &InputError{s.name, s.lines, fmt.Errorf("a line of more than %d KiB: an access log has shorter ones", chunkSize>>10)}
		r.summary.Lines++
		r.skip(err, 1)
		if !r.log.options.Lenient {
			return err
		}
		return nil
	}
	if k.bad != nil {
		r.skip(&InputError{s.name, s.lines + k.badLine, k.bad}, k.skipped)
	}
	r.summary.Lines += k.lines
	for i := range k.texts {
		t := &k.texts[i]
		r.log.texts.add(t.key, k.letters[t.begin:t.end])
	}
	if err := r.rows(k); err != nil {
		return err
	}
	s.lines += k.ends
	r.newest = max(r.newest, k.frontier)
	return r.sorter.Release(r.newest - int64(Lateness))
}

func (r *reading) skip(err *InputError, n int) {
	if r.summary.FirstSkip == nil {
		r.summary.FirstSkip = err
	}
	r.summary.Skipped += n
}

// rows sends the rows of a chunk to be put in order.
func (r *reading) rows(k *chunk) error {
	s, width := k.source, 1+len(r.log.options.Fields)
	begin := 0
	for i := 0; i < len(k.rows); i += width {
		at := int64(k.rows[i])
		switch {
		case at >= s.newest:
			s.newest = at
		case at < s.newest-int64(Lateness):
			err := r.late(k, i/width, at)
			if !r.log.options.Lenient {
				return err
			}
			r.skip(err, 1)
			if err := r.sorter.Add(k.rows[begin:i]); err != nil {
				return err
			}
			begin = i + width
			continue
		default:
			r.summary.Reordered++
		}
		r.summary.First, r.summary.Last = min(r.summary.First, at), max(r.summary.Last, at)
	}
	return r.sorter.Add(k.rows[begin:])
}

// late says which line is too old.
func (r *reading) late(k *chunk, row int, at int64) *InputError {
	show := func(ns int64) string { return time.Unix(0, ns).UTC().Format("2 Jan 2006 15:04:05") }
	return &InputError{k.source.name, k.source.lines + newLineParser(&r.log.options, r.log.texts.hasher).lineOf(k, row),
		fmt.Errorf("it was written at %s, more than %v before a line above it (%s): sort the file by time, or leave such lines out with -lenient",
			show(at), Lateness, show(k.source.newest))}
}

// Text returns what a key was read from: an address, or the /64 of one; or the text,
// of which long ones are cut, and rare ones forgotten: then, and for None, it returns "".
func (l *Log) Text(k Key) string {
	if a := k.address(); a != "" {
		return a
	}
	return l.texts.text(k)
}
