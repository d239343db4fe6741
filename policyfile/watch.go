package policyfile

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/goweir/weir"
)

// An Option changes how Watch works. One that makes no sense panics where it is
// made, and a nil one where it is used.
type Option func(*watcher)

// WithSignal has Watch look at once whenever c delivers, for signal.Notify(c,
// syscall.SIGHUP) and the like. Such a look always says in the log how it went.
// Make c with a buffer of 1: signal.Notify does not wait for a receiver.
func WithSignal(c <-chan os.Signal) Option {
	if c == nil {
		panic("policyfile: WithSignal(nil): leave it out to only look from time to time")
	}
	return func(w *watcher) { w.signals = c }
}

// WithLogger sets where Watch reports; the default is slog.Default().
func WithLogger(l *slog.Logger) Option {
	if l == nil {
		panic("policyfile: WithLogger(nil): leave it out for slog.Default()")
	}
	return func(w *watcher) { w.log = l }
}

// WithCurrent says which policies are in force already, which is what Read
// returned. Watch then begins by applying what has changed since, and a problem
// with its first look is like one with any other: it does not return before ctx
// is done.
func WithCurrent(policies map[string]weir.Policy) Option {
	current := map[string]weir.Policy{} // not nil, even if there are none
	maps.Copy(current, policies)
	return func(w *watcher) { w.policies = maps.Clone(current) }
}

// Watch reads the policies of a file, has apply put them in force, and looks
// again every so often until ctx is done.
//
// Without WithCurrent the first look must succeed: if the file cannot be read or
// is refused, if apply fails, or if ctx is done before, Watch returns the error.
// From then on it returns nil when ctx is done, and for no other reason.
//
// Apply is called for the first version, with all of its policies, and after that
// only when something changed, with those that are new or not Equal to what they
// were. A file that is only touched, or says the same in other words, changes
// nothing. All calls come from Watch's own goroutine, and the map is apply's to
// keep. A name that is no longer in the file keeps the policy it had, as a limiter
// in use must have one; that is logged, and so is its return.
//
// A later version that is refused, or a file that is not there, changes nothing
// and is logged at slog.LevelError, once for as long as the problem is the same. So
// is an error of apply, and each look tries again. As nobody knows what a failed
// apply has put in force, the next call has the policies of its names again, even
// if the file is back at what it said before. What was applied is logged at
// slog.LevelInfo, a line for each policy: its name, its old text and its new one.
func Watch(ctx context.Context, path string, every time.Duration, apply func(map[string]weir.Policy) error, opts ...Option) error {
	switch {
	case every <= 0:
		return fmt.Errorf("policyfile: Watch %s every %v: it must be positive", path, every)
	case apply == nil:
		return fmt.Errorf("policyfile: Watch %s with a nil apply", path)
	}
	w := &watcher{path: path, apply: apply, missing: map[string]bool{}, unsure: map[string]bool{}}
	for _, option := range opts {
		if option == nil {
			panic("policyfile: a nil Option")
		}
		option(w)
	}
	if w.log == nil {
		w.log = slog.Default()
	}
	w.log = w.log.With("file", path)
	return w.watch(ctx, every)
}

// A watcher is what one call of Watch knows.
type watcher struct {
	path    string
	apply   func(map[string]weir.Policy) error
	log     *slog.Logger
	signals <-chan os.Signal

	policies map[string]weir.Policy // in force, as far as apply was asked; nil before the first version
	missing  map[string]bool        // of those, the ones that the file no longer has
	unsure   map[string]bool        // given to an apply that failed

	judged  reading // the last one that settled
	problem error   // what was wrong with it, nil if nothing
	retry   bool    // with apply, not with the file
}

func (w *watcher) watch(ctx context.Context, every time.Duration) error {
	if w.policies != nil {
		w.look(ctx, false)
	} else if err := w.first(ctx); err != nil {
		return err
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			w.look(ctx, false)
		case _, open := <-w.signals:
			if !open {
				w.signals = nil // or it would be ready for ever
				continue
			}
			w.look(ctx, true)
		}
	}
}

func (w *watcher) first(ctx context.Context) error {
	r := readOnce(w.path)
	if r.err != nil {
		return r.err
	}
	if r = r.settled(ctx); r.err != nil {
		return r.err
	}
	w.judge(ctx, r)
	return w.problem
}

// look reads the file, judges what is new, and logs a problem that is. One that
// was asked for is logged in any case.
func (w *watcher) look(ctx context.Context, asked bool) {
	before := w.problem
	r := readOnce(w.path)
	if w.retry || !r.sees(w.judged) {
		w.judge(ctx, r.settled(ctx))
	}
	switch now := w.problem; {
	case ctx.Err() != nil:
	case now != nil && (asked || before == nil || now.Error() != before.Error()):
		w.log.ErrorContext(ctx, "policies not changed", "error", now)
	case now == nil && (asked || before != nil):
		w.log.InfoContext(ctx, "policies up to date")
	}
}

// judge applies what a reading says, or has a problem with it.
func (w *watcher) judge(ctx context.Context, r reading) {
	w.judged, w.retry = r, false
	var version map[string]weir.Policy
	if version, w.problem = r.policies(); w.problem != nil {
		return
	}
	changed := w.changed(version)
	if len(changed) > 0 || w.policies == nil {
		if err := w.apply(maps.Clone(changed)); err != nil {
			w.problem = fmt.Errorf("policyfile: applying %s: %w", w.path, err)
			w.retry = true
			for name := range changed {
				w.unsure[name] = true
			}
			return
		}
	}
	w.take(ctx, version, changed)
}

// changed returns what apply has to be told so that version is in force.
func (w *watcher) changed(version map[string]weir.Policy) map[string]weir.Policy {
	changed := map[string]weir.Policy{}
	for name, p := range version {
		if old, ok := w.policies[name]; !ok || !p.Equal(old) || w.unsure[name] {
			changed[name] = p
		}
	}
	for name := range w.unsure {
		old, known := w.policies[name]
		if _, has := version[name]; known && !has {
			changed[name] = old
		}
	}
	return changed
}

// take logs a version that was applied, and remembers it.
func (w *watcher) take(ctx context.Context, version, changed map[string]weir.Policy) {
	if w.policies == nil {
		w.policies = map[string]weir.Policy{}
	}
	clear(w.unsure)
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		attrs := []any{"name", name}
		if old, ok := w.policies[name]; ok {
			attrs = append(attrs, "old", old.String())
		}
		w.log.InfoContext(ctx, "policy applied", append(attrs, "new", changed[name].String())...)
		w.policies[name] = changed[name]
	}
	for _, name := range slices.Sorted(maps.Keys(w.policies)) {
		_, has := version[name]
		switch policy := w.policies[name].String(); {
		case !has && !w.missing[name]:
			w.log.WarnContext(ctx, "policy no longer in the file, and kept", "name", name, "policy", policy)
			w.missing[name] = true
		case has && w.missing[name]:
			w.log.InfoContext(ctx, "policy in the file again", "name", name, "policy", policy)
			delete(w.missing, name)
		}
	}
}
