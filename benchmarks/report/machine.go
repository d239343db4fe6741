package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// A Machine is what the figures were measured on and with. Not its name.
type Machine struct {
	CPU     string
	Cores   int
	Memory  uint64 // bytes, 0 if unknown
	OS      string
	Go      string
	Date    string
	Modules map[string]string // versions
}

func thisMachine() Machine {
	m := Machine{
		CPU:     lineOf("/proc/cpuinfo", "model name", ":"),
		Cores:   runtime.NumCPU(),
		OS:      lineOf("/etc/os-release", "PRETTY_NAME", "="),
		Go:      runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Date:    time.Now().UTC().Format(time.DateOnly),
		Modules: map[string]string{},
	}
	kilobytes, _ := strconv.ParseUint(strings.TrimSuffix(lineOf("/proc/meminfo", "MemTotal", ":"), " kB"), 10, 64)
	m.Memory = kilobytes << 10
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		version, _, _ := strings.Cut(strings.TrimSpace(string(kernel)), "-")
		m.OS = fmt.Sprintf("%s, Linux %s", m.OS, version)
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			m.Modules[module.Path] = module.Version
		}
	}
	return m
}

// lineOf returns what a file says of a name, or that it does not.
func lineOf(file, name, separator string) string {
	f, err := os.Open(file)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), separator)
		if ok && strings.TrimSpace(key) == name {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return "unknown"
}
