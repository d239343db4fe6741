package promlimit_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program returns the path of prometheus or promtool. Where it is not installed the test is
// skipped, with WEIR_PROMETHEUS=1 it fails.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("WEIR_PROMETHEUS") == "" {
		t.Skip(name + " is not installed: apt-get install prometheus")
	}
	require.NoError(t, err)
	return path
}

// promtool has promtool judge, also by what it reads from its standard input.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	cmd := exec.Command(program(t, "promtool"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %s: %s", strings.Join(args, " "), out)
}

// A server is a Prometheus of a test's own.
type server struct {
	t   *testing.T
	url string
}

// startPrometheus starts a Prometheus that ends with the test.
func startPrometheus(t *testing.T, config string) server {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	cmd := exec.Command(program(t, "prometheus"), "--config.file="+file, "--storage.tsdb.path="+dir, "--web.listen-address=127.0.0.1:0")
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())

	address := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		listening := regexp.MustCompile(`msg="Listening on" address=(\S+)`)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
		_, _ = io.Copy(io.Discard, log) // what a Scanner finds too long
	}()
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		<-drained
		require.NoError(t, cmd.Wait())
	})
	s := server{t: t}
	select {
	case at := <-address:
		s.url = "http://" + at
	case <-drained:
		require.Fail(t, "prometheus has ended")
	case <-time.After(time.Minute):
		require.Fail(t, "prometheus does not listen")
	}
	return s
}

// get asks the HTTP API, and returns its data.
func (s server) get(path string, parameters url.Values, data any) error {
	response, err := http.Get(s.url + "/api/v1/" + path + "?" + parameters.Encode())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s: %s", response.Status, body) // it is not ready yet
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s %v: %s", path, parameters, answer.Error)
	}
	return nil
}

// A sample is one of a query's, without its name and the labels that Prometheus gives targets.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

func (s server) query(expression string) ([]sample, error) {
	var data struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	if err := s.get("query", url.Values{"query": {expression}}, &data); err != nil {
		return nil, err
	}
	var samples []sample
	for _, r := range data.Result {
		value, err := strconv.ParseFloat(r.Value[1].(string), 64)
		if err != nil {
			return nil, err
		}
		found := sample{name: r.Metric["__name__"], labels: r.Metric, value: value}
		for _, label := range []string{"__name__", "job", "instance"} {
			delete(found.labels, label)
		}
		samples = append(samples, found)
	}
	return samples, nil
}

// eventually tries something until it succeeds, or for a minute.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := try()
		if err == nil {
			return
		}
		require.True(t, time.Now().Before(deadline), "%v", err)
		time.Sleep(20 * time.Millisecond)
	}
}
