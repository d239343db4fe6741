package weir_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/goweir/weir"
)

func ExampleParseLimit() {
	for _, text := range []string{"60/min", "5 / 10s burst 20", "unlimited", "100 per second", "5/fortnight"} {
		l, err := weir.ParseLimit(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(l)
	}
	// Output:
	// 60/m
	// 5/10s burst 20
	// unlimited
	// weir: limit "100 per second" at 5: expected "/" and a period, found "per"; try "100/s"
	// weir: limit "5/fortnight" at 3: unknown period "fortnight"; try "5/14d"
}

func ExampleParsePolicy() {
	p, err := weir.ParsePolicy(`all(token-bucket 10/s burst 20, sliding-window 1000/h as "hourly")`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("at once:", p.MaxWithin(1))
	fmt.Println("a minute:", p.MaxWithin(time.Minute))
	fmt.Println("an hour:", p.MaxWithin(time.Hour))

	_, err = weir.ParsePolicy("all(10/s, token_bucket 1000/h)")
	fmt.Println(err)
	// Output:
	// at once: 20
	// a minute: 619
	// an hour: 1000
	// weir: policy "all(10/s, token_bucket 1000/h)" at 11: unknown algorithm "token_bucket"; try "token-bucket"
}

// Limits and policies are texts in a configuration file, whatever its format.
func ExamplePolicy_UnmarshalText() {
	var config struct {
		Upload weir.Limit             `json:"upload"`
		Routes map[string]weir.Policy `json:"routes"`
	}
	err := json.Unmarshal([]byte(`{
		"upload": "20/m",
		"routes": {
			"/login":  "sliding-window 5/10s",
			"/search": "burst-reserve(100/s, 5/s burst 50)",
			"/":       "1000/h"
		}
	}`), &config)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(config.Upload.Count(), "per", config.Upload.Period())
	fmt.Println(config.Routes["/login"].MaxWithin(10*time.Second), "logins in any 10 seconds")
	fmt.Println(config.Routes["/"]) // a limit alone is a token bucket
	// Output:
	// 20 per 1m0s
	// 5 logins in any 10 seconds
	// token-bucket 1000/h
}
