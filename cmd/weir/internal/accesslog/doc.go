// Package accesslog reads the access logs of web servers: nginx's and Apache's
// Common and Combined formats, lines of JSON and of CSV, plain or compressed with
// gzip.
//
// [Open] looks at the beginning of each file, and [Log.Read] hands on a row for
// each line, in order of time: when it was, and who asked. Chunks of lines are
// parsed in parallel, without an allocation for a line, and put in order by the
// package order. How much memory that takes does not depend on how long a log is.
package accesslog
