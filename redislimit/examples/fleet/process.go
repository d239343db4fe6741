package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// A process is one of the service's: this program once more.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	url   string
}

func startProcess(store string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), storeVariable+"="+store)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stdin: stdin}
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("a process does not say where it listens: %w", err)
	}
	p.url = "http://" + strings.TrimSpace(addr)
	return p, nil
}

// stop ends it, and waits until it is gone.
func (p *process) stop() {
	_ = p.stdin.Close()
	_ = p.cmd.Wait()
}
