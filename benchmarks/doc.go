// Package benchmarks measures weir beside its peers. The benchmarks are for
// benchstat:
//
//	go test -run '^$' -bench . -count 8 | tee new.txt
//	benchstat -col /by new.txt
//
// The report measures the same cases, interleaved, and more that is no time per
// operation: memory, collections, latencies, and what is admitted. It writes
// BENCHMARKS.md and its charts:
//
//	go run -C benchmarks ./report
//	go run -C benchmarks ./report -redis    redislimit/BENCHMARKS.md, with a redis-server
package benchmarks
