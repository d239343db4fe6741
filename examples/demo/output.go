package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/goweir/weir"
)

func printScenarios(w io.Writer, all []*scenario) {
	for _, s := range all {
		fmt.Fprintf(w, "  /%-10s %-13s %v\n", s.name, s.whose+":", s.policy)
		if !s.shared.Equal(weir.Policy{}) {
			fmt.Fprintf(w, "  %-11s %-13s %v\n", "", "all together:", s.shared)
		}
	}
	fmt.Fprintln(w)
}

func printHelp(w io.Writer, url string, all []*scenario) {
	fmt.Fprintf(w, "weir behind %s until Ctrl-C\n\n", url)
	printScenarios(w, all)
	fmt.Fprintf(w, `Add any name to a path: each name is a client with limits of its own.

  curl -i %[1]s/login/alice
  for i in 1 2 3 4 5 6 7; do curl -s -o /dev/null -w '%%{http_code}\n' %[1]s/login/bob; done

`, url)
}

func printStats(w io.Writer, all []*scenario) {
	fmt.Fprintf(w, "\n%-12s %9s %9s %9s\n", "", "allowed", "denied", "clients")
	for _, s := range all {
		st := s.stats()
		fmt.Fprintf(w, "/%-11s %9d %9d %9d\n", s.name, st.Allowed, st.Denied, st.Clients)
	}
}

// showProgress returns when the clients have finished. On a terminal it rewrites one line, elsewhere
// (a log) it writes a line now and then.
func showProgress(w io.Writer, finished <-chan struct{}, length time.Duration, tallies [][]tally) {
	pause, before, after := 2*time.Second, "", "\n"
	if isTerminal(w) {
		pause, before, after = 200*time.Millisecond, "\r\x1b[K", ""
	}
	begin := time.Now()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-finished:
			fmt.Fprint(w, before)
			return
		case <-tick.C:
			var offered, allowed uint64
			for _, clients := range tallies {
				for i := range clients {
					offered += clients[i].offered()
					allowed += clients[i].allowed.Load()
				}
			}
			fmt.Fprintf(w, "%s%4.1fs of %v: %d requests, %d allowed%s",
				before, time.Since(begin).Seconds(), length, offered, allowed, after)
		}
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
