package interop_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"
	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

// Echo's middlewares are not those of net/http: forEcho makes one of the other. It
// knows the route, with Use as well as for a single one.
func Example_echo() {
	e := echo.New()
	e.Use(forEcho(httplimit.Limit(httplimit.PerRemoteIP(weir.TokenBucket(weir.PerHour(4))))))
	e.GET("/", func(c *echo.Context) error {
		return c.String(http.StatusOK, "Hello.")
	})
	limitRoute := forEcho(httplimit.Limit(httplimit.PerRoute(nil, weir.TokenBucket(weir.PerHour(2)))))
	e.GET("/search/:term", func(c *echo.Context) error {
		return c.String(http.StatusOK, "Nothing found.")
	}, limitRoute)

	show(e, "GET", "/search/weir")
	show(e, "GET", "/search/dam")
	show(e, "GET", "/search/sluice")
	show(e, "GET", "/")
	show(e, "GET", "/")
	// Output:
	// GET /search/weir 200
	// GET /search/dam 200
	// GET /search/sluice 429
	// GET / 200
	// GET / 429
}

// forEcho makes a middleware of Echo of one of net/http. It does so once, where
// echo.WrapMiddleware does for each request, and has errors answered before the
// middleware is done: what Settle gets is then the status of the answer.
func forEcho(m func(http.Handler) http.Handler) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		h := m(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := r.Context().Value(echoContext{}).(*echo.Context)
			c.SetRequest(r)
			c.SetResponse(echo.NewResponse(w, c.Logger()))
			if err := next(c); err != nil {
				c.Echo().HTTPErrorHandler(c, err)
			}
		}))
		return func(c *echo.Context) error {
			r, w := c.Request(), c.Response()
			defer c.SetResponse(w)
			h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), echoContext{}, c)))
			return nil
		}
	}
}

type echoContext struct{}

// echoSite has the pages of a site as Echo's handlers.
func echoSite(limit func(func(http.Handler) http.Handler) echo.MiddlewareFunc) func(*site) http.Handler {
	return func(s *site) http.Handler {
		e := echo.New()
		e.Use(inOrder(s, middleware.Recover(), limit(s.limit))...)
		e.GET("/hello", func(c *echo.Context) error {
			s.called.Add(1)
			return c.String(http.StatusOK, hello(c.Request().Context()))
		})
		e.POST("/login", func(c *echo.Context) error {
			s.called.Add(1)
			if c.QueryParam("password") != "right" {
				return echo.ErrUnauthorized
			}
			return c.NoContent(http.StatusOK)
		})
		e.GET("/users/:id", func(c *echo.Context) error {
			s.called.Add(1)
			return c.NoContent(http.StatusOK)
		})
		e.GET("/panic", func(*echo.Context) error { panic("as it does in the best of families") })
		e.GET("/stream", func(c *echo.Context) error {
			if err := c.String(http.StatusOK, "one\n"); err != nil {
				return err
			}
			if err := http.NewResponseController(c.Response()).Flush(); err != nil {
				return err
			}
			s.pause(c.Response(), c.Request())
			_, err := c.Response().Write([]byte("two\n"))
			return err
		})
		e.GET("/upgrade", func(c *echo.Context) error {
			conn, rw, err := http.NewResponseController(c.Response()).Hijack()
			if err == nil {
				echoLines(conn, rw)
			}
			return err
		})
		return e
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	router{build: echoSite(forEcho), users: "/users/:id"}.test(t)
}

// Echo's own adaptor does as well, as long as whoever needs Settle has errors
// answered inside.
func TestEchoWrapMiddleware(t *testing.T) {
	t.Parallel()
	answerErrors := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			if err := next(c); err != nil {
				c.Echo().HTTPErrorHandler(c, err)
			}
			return nil
		}
	}
	router{build: echoSite(func(m func(http.Handler) http.Handler) echo.MiddlewareFunc {
		return func(next echo.HandlerFunc) echo.HandlerFunc { return echo.WrapMiddleware(m)(answerErrors(next)) }
	}), users: "/users/:id"}.test(t)
}

// An error that Echo answers after the middleware has settled finds its response
// as it was.
func TestEchoAnswersErrorsLater(t *testing.T) {
	t.Parallel()
	limit, settled := recording(t)
	_, url := router{build: echoSite(echo.WrapMiddleware)}.serve(t, limit)
	resp, body := ask(t, http.DefaultClient, "POST", url+"/login")
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	require.JSONEq(t, `{"message":"Unauthorized"}`, body)
	require.NotEmpty(t, resp.Header.Get("RateLimit"))
	require.Equal(t, http.StatusOK, settled(), "nothing was written yet")
}
