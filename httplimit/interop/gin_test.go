package interop_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

func init() { gin.SetMode(gin.ReleaseMode) } // which says nothing on standard output

// Gin's middlewares are not those of net/http: forGin makes one of the other. It
// knows the route, with Use as well as for a single one.
func Example_gin() {
	r := gin.New()
	r.Use(forGin(httplimit.Limit(httplimit.PerRemoteIP(weir.TokenBucket(weir.PerHour(4))))))
	r.GET("/", func(c *gin.Context) {
		c.String(http.StatusOK, "Hello.")
	})
	limitRoute := forGin(httplimit.Limit(httplimit.PerRoute(nil, weir.TokenBucket(weir.PerHour(2)))))
	r.GET("/search/:term", limitRoute, func(c *gin.Context) {
		c.String(http.StatusOK, "Nothing found.")
	})

	show(r, "GET", "/search/weir")
	show(r, "GET", "/search/dam")
	show(r, "GET", "/search/sluice")
	show(r, "GET", "/")
	show(r, "GET", "/")
	// Output:
	// GET /search/weir 200
	// GET /search/dam 200
	// GET /search/sluice 429
	// GET / 200
	// GET / 429
}

// forGin makes a middleware of gin of one of net/http.
func forGin(m func(http.Handler) http.Handler) gin.HandlerFunc {
	h := m(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(ginContext{}).(*gin.Context)
		c.Request, c.Writer = r, ginWriter{c.Writer, w}
		c.Next()
	}))
	return func(c *gin.Context) {
		c.Request.Pattern = c.FullPath()
		r, w := c.Request.WithContext(context.WithValue(c.Request.Context(), ginContext{}, c)), c.Writer
		c.Request = r
		defer func() { c.Writer = w }()
		h.ServeHTTP(w, r)
		if c.Request == r { // the middleware did not call the handler
			c.Abort()
		}
	}
}

type ginContext struct{}

// A ginWriter is gin's, but what a handler writes goes through the middleware's.
// Gin keeps the status until there is a body: only then is it told.
type ginWriter struct {
	gin.ResponseWriter
	through http.ResponseWriter
}

func (w ginWriter) Write(p []byte) (int, error) {
	w.through.WriteHeader(w.Status())
	return w.through.Write(p)
}

func (w ginWriter) WriteString(s string) (int, error) {
	w.through.WriteHeader(w.Status())
	return io.WriteString(w.through, s)
}

func (w ginWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.through).Hijack()
}

func (w ginWriter) Unwrap() http.ResponseWriter { return w.through }

// ginSite has the pages of a site as gin's handlers.
func ginSite(s *site) http.Handler {
	r := gin.New()
	r.Use(inOrder(s, gin.RecoveryWithWriter(io.Discard), forGin(s.limit))...)
	r.GET("/hello", func(c *gin.Context) {
		s.called.Add(1)
		c.String(http.StatusOK, hello(c.Request.Context()))
	})
	r.POST("/login", func(c *gin.Context) {
		s.called.Add(1)
		if c.Query("password") != "right" {
			c.AbortWithStatus(http.StatusUnauthorized)
		}
	})
	r.GET("/users/:id", func(*gin.Context) { s.called.Add(1) })
	r.GET("/panic", func(*gin.Context) { panic("as it does in the best of families") })
	r.GET("/stream", func(c *gin.Context) {
		c.String(http.StatusOK, "one\n")
		c.Writer.Flush()
		s.pause(c.Writer, c.Request)
		c.String(http.StatusOK, "two\n")
	})
	r.GET("/upgrade", func(c *gin.Context) {
		conn, rw, err := c.Writer.Hijack()
		if err == nil {
			echoLines(conn, rw)
		}
	})
	return r
}

func TestGin(t *testing.T) {
	t.Parallel()
	router{build: ginSite, users: "/users/:id"}.test(t)
}

// The status that gin sends is the one that Settle gets, though gin's handlers may
// change their minds until the body begins.
func TestGinsLastStatusIsSettled(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]gin.HandlerFunc{
		"no body": func(c *gin.Context) { c.Status(http.StatusOK); c.Status(http.StatusUnauthorized) },
		"JSON": func(c *gin.Context) {
			c.Status(http.StatusAccepted)
			c.JSON(http.StatusUnauthorized, gin.H{"error": "password"})
		},
		"aborted":     func(c *gin.Context) { c.AbortWithStatusJSON(http.StatusUnauthorized, gin.H{"error": "password"}) },
		"with header": func(c *gin.Context) { c.Status(http.StatusUnauthorized); c.Writer.WriteHeaderNow() },
		"flushed":     func(c *gin.Context) { c.Status(http.StatusUnauthorized); c.Writer.Flush() },
		"a string":    func(c *gin.Context) { c.Status(http.StatusUnauthorized); _, _ = c.Writer.WriteString("no") },
		"twice":       func(c *gin.Context) { c.String(http.StatusUnauthorized, "no "); c.String(http.StatusOK, "yes") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit, settled := recording(t)
			_, url := router{build: func(s *site) http.Handler {
				r := gin.New()
				r.GET("/", forGin(s.limit), page)
				return r
			}}.serve(t, limit)
			resp, _ := ask(t, http.DefaultClient, "GET", url)
			require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
			require.Equal(t, http.StatusUnauthorized, settled())
		})
	}
}

// A denial ends gin's chain, and what stands before it in the chain can see that.
func TestGinIsAborted(t *testing.T) {
	t.Parallel()
	limit := httplimit.Limit(httplimit.PerRemoteIP(weir.TokenBucket(weir.PerHour(1)), weir.WithClock(weir.NewManualClock())))
	var log []string
	note := func(what string) gin.HandlerFunc {
		return func(c *gin.Context) { log = append(log, what) }
	}
	r := gin.New()
	r.Use(func(c *gin.Context) {
		c.Next()
		log = append(log, fmt.Sprint(c.IsAborted(), c.Writer.Status()))
	}, forGin(limit), note("middleware"))
	r.GET("/", note("handler"), note("another"))
	_, url := router{build: func(*site) http.Handler { return r }}.serve(t, nil)
	ask(t, http.DefaultClient, "GET", url)
	require.Equal(t, []string{"middleware", "handler", "another", "false 200"}, log)
	log = nil
	ask(t, http.DefaultClient, "GET", url)
	require.Equal(t, []string{"true 429"}, log)
}
