package policyfile_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/policyfile"
)

func Example() {
	path := exampleFile(`{
		"api":   "all(token-bucket 10/s burst 20, sliding-window 1000/h)",
		"login": "5/10s"
	}`)
	defer os.Remove(path)

	policies, err := policyfile.Read(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	api := weir.NewPerClient[string](policies["api"], weir.WithClock(weir.NewManualClock()))
	defer api.Close()
	d := api.Take("ann", 20)
	fmt.Println(d.Allowed, d.Remaining, d.Policy)
	fmt.Println(policies["login"])
	// Output:
	// true 0 token-bucket 10/s burst 20
	// token-bucket 5/10s
}

// A service gets another limit while it runs: it looks into the file from time to time, and at once
// when somebody sends it a SIGHUP.
func ExampleWatch() {
	path := exampleFile(`{"api": "20/h", "login": "5/10s"}`)
	defer os.Remove(path)
	policies, err := policyfile.Read(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	api := weir.NewPerClient[string](policies["api"])
	defer api.Close()

	applied := make(chan struct{}, 1)
	apply := func(changed map[string]weir.Policy) error {
		if p, ok := changed["api"]; ok {
			if err := api.SetPolicy(p); err != nil {
				return err
			}
		}
		applied <- struct{}{}
		return nil
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	ctx, stop := context.WithCancel(context.Background())
	watched := make(chan error, 1)
	go func() {
		watched <- policyfile.Watch(ctx, path, 10*time.Second, apply,
			policyfile.WithCurrent(policies), policyfile.WithSignal(hup),
			policyfile.WithLogger(slog.New(slog.DiscardHandler)))
	}()

	fmt.Println(api.AllowN("ann", 20), api.Policy())
	// An editor writes another file and renames it over this one.
	next := exampleFile(`{"api": "50/h", "login": "5/10s"}`)
	if err := os.Rename(next, path); err != nil {
		fmt.Println(err)
	}
	hup <- syscall.SIGHUP // as kill -HUP would
	<-applied
	fmt.Println(api.Tokens("ann"), api.Policy()) // what was used stays used

	stop()
	fmt.Println(<-watched)
	// Output:
	// true token-bucket 20/h
	// 30 token-bucket 50/h
	// <nil>
}

// Limits may stand in a file of the program's own, in any format whose decoder knows
// encoding.TextUnmarshaler: JSON, and with their usual packages YAML and TOML. In YAML it would be
//
//	listen: ":8080"
//	limits:
//	  api: all(10/s burst 20, sliding-window 1000/h)
//	  login: 5/10s
//	trial: 1/s
func Example_otherFormats() {
	var config struct {
		Listen string                 `json:"listen" yaml:"listen" toml:"listen"`
		Limits map[string]weir.Policy `json:"limits" yaml:"limits" toml:"limits"`
		Trial  weir.Limit             `json:"trial" yaml:"trial" toml:"trial"`
	}
	text := `{
		"listen": ":8080",
		"limits": {"api": "all(10/s burst 20, sliding-window 1000/h)", "login": "5/10s"},
		"trial": "1/s"
	}`
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(config.Limits["api"])
	fmt.Println(config.Limits["login"])
	fmt.Println(config.Trial)
	// Output:
	// all(token-bucket 10/s burst 20, sliding-window 1000/h)
	// token-bucket 5/10s
	// 1/s
}

// A limit from the environment, and one from the command line with a default.
func Example_environment() {
	os.Setenv("LOGIN_LIMIT", "sliding-window 5/10s") // in a service: whoever starts it
	defer os.Unsetenv("LOGIN_LIMIT")

	login, err := weir.ParsePolicy(os.Getenv("LOGIN_LIMIT"))
	if err != nil {
		fmt.Println("LOGIN_LIMIT:", err)
		return
	}
	var api weir.Policy
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.TextVar(&api, "api", weir.TokenBucket(weir.PerSecond(10)), "`policy` of each client")
	if err := flags.Parse([]string{"-api", "100/s burst 200"}); err != nil {
		return
	}
	fmt.Println(login)
	fmt.Println(api)
	// Output:
	// sliding-window 5/10s
	// token-bucket 100/s burst 200
}

func exampleFile(text string) string {
	f, err := os.CreateTemp("", "limits-*.json")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		panic(err)
	}
	return f.Name()
}
