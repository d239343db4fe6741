package interop_test

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir/httplimit"
)

// nginxConfig is that of an nginx with four backends.
const nginxConfig = `
daemon off;
worker_processes 1;
pid nginx.pid;
events {}
http {
	access_log off;
	client_body_temp_path temp;
	proxy_temp_path temp;
	fastcgi_temp_path temp;
	uwsgi_temp_path temp;
	scgi_temp_path temp;
	server {
		listen %s;
		location /adds {
			proxy_pass %s;
			proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
		}
		location /adds-only {
			proxy_pass %s;
			proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
			proxy_set_header Forwarded "";
		}
		location /sets {
			proxy_pass %s;
			proxy_set_header X-Forwarded-For $remote_addr;
		}
		location /real-ip {
			proxy_pass %s;
			proxy_set_header X-Real-IP $remote_addr;
		}
	}
}
`

// What is true of ReverseProxy is true of nginx. Linux has all of 127.0.0.0/8 on
// loopback, of which only nginx is trusted here.
func TestForgedHeadersDoNotPassNginx(t *testing.T) {
	t.Parallel()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		require.NotEqual(t, "1", os.Getenv("WEIR_NGINX"), "there is no nginx")
		t.Log("nginx is not installed: nothing was tried")
		return
	}
	trusted := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	either := httplimit.ClientIP(trusted...)
	adds, addsClock := backend(t, either)
	addsOnly, addsOnlyClock := backend(t, either)
	sets, setsClock := backend(t, httplimit.AddressKey{Trusted: trusted, Header: "X-Forwarded-For"}.Func())
	realIP, realIPClock := backend(t, httplimit.AddressKey{Trusted: trusted, Header: "X-Real-Ip"}.Func())

	url := startNginx(t, nginx, adds, addsOnly, sets, realIP)
	attacker, neighbour := clientFrom(t, "127.0.0.2"), clientFrom(t, "127.0.0.3")
	checkForgeries(t, addsClock, visitor{attacker, url + "/adds"}, visitor{neighbour, url + "/adds"}, true)
	checkForgeries(t, addsOnlyClock, visitor{attacker, url + "/adds-only"}, visitor{neighbour, url + "/adds-only"}, false)
	checkForgeries(t, setsClock, visitor{attacker, url + "/sets"}, visitor{neighbour, url + "/sets"}, false)
	checkForgeries(t, realIPClock, visitor{attacker, url + "/real-ip"}, visitor{neighbour, url + "/real-ip"}, false)
}

// startNginx hands nginx a socket that listens already, as an nginx does to the
// next one when it is upgraded. So no port is lost to somebody else meanwhile, and
// nobody has to wait for it.
func startNginx(t *testing.T, nginx string, backends ...any) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	socket, err := l.(*net.TCPListener).File()
	require.NoError(t, err)
	dir := t.TempDir()
	config := fmt.Sprintf(nginxConfig, append([]any{l.Addr()}, backends...)...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o600))

	cmd := exec.Command(nginx, "-p", dir, "-c", "nginx.conf", "-e", "stderr")
	cmd.Env = append(os.Environ(), "NGINX=3;")
	cmd.ExtraFiles = []*os.File{socket}
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	// From here on only nginx has it: if it fails to start, connections are refused.
	require.NoError(t, socket.Close())
	require.NoError(t, l.Close())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM)) // it takes its worker along
		require.NoError(t, cmd.Wait())
	})
	return "http://" + l.Addr().String()
}

// clientFrom returns a client that connects from an address of this machine.
func clientFrom(t *testing.T, address string) *http.Client {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
