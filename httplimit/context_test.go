package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

func TestFromContextKnowsTheDecision(t *testing.T) {
	type key struct{}
	_, found := httplimit.FromContext(t.Context())
	require.False(t, found)
	l := still(hourly(4, "a"))
	served := 0
	h := httplimit.Limit(httplimit.Global(l))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served++
		derived, cancel := context.WithCancel(context.WithValue(r.Context(), key{}, "value"))
		cancel()
		for _, ctx := range []context.Context{r.Context(), derived, context.WithoutCancel(derived), r.Clone(derived).Context()} {
			d, found := httplimit.FromContext(ctx)
			require.True(t, found)
			require.True(t, d.Allowed)
			require.Equal(t, []any{"a", 4, 4 - served}, []any{d.Policy, d.Limit, d.Remaining})
			require.Equal(t, l.Peek(0).ResetAfter, d.ResetAfter)
		}
	}))
	respond(h)
	respond(h)
	require.Equal(t, 2, served)
}

func TestFromContextKnowsOfShadows(t *testing.T) {
	h := httplimit.Limit(httplimit.Global(still(hourly(0, "tried"), weir.WithShadow())))(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			d, _ := httplimit.FromContext(r.Context())
			require.Equal(t, "tried", d.Policy)
			require.True(t, d.Shadowed)
			require.Equal(t, weir.Never, d.RetryAfter)
		}))
	require.Equal(t, http.StatusOK, respond(h).Code)
}

func TestFromContextIsThatOfTheInnermost(t *testing.T) {
	name := func(r *http.Request) string {
		d, _ := httplimit.FromContext(r.Context())
		return d.Policy
	}
	inner := httplimit.Limit(httplimit.Global(still(hourly(1, "inner"))))(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) { require.Equal(t, "inner", name(r)) }))
	outer := httplimit.Limit(httplimit.Global(still(hourly(1, "outer"))))(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(w, r)
			require.Equal(t, "outer", name(r))
		}))
	require.Equal(t, http.StatusOK, respond(outer).Code)
}

func TestTheContextIsOtherwiseTheRequests(t *testing.T) {
	type key struct{}
	cause := errors.New("cause")
	parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	h := httplimit.Limit()(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx, free := context.WithCancel(r.Context())
		defer free()
		require.Equal(t, "value", ctx.Value(key{}))
		require.NoError(t, ctx.Err())
		cancel(cause)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), cause)
		require.ErrorIs(t, r.Context().Err(), context.Canceled)
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(parent))
}

// Whoever goes on with a request or its context must not find another's there.
func TestARequestThatIsKeptStaysAsItWas(t *testing.T) {
	type kept struct {
		r         *http.Request
		path      string
		remaining int
	}
	const each = 200
	keep := make(chan kept, 8*each)
	h := httplimit.Limit(httplimit.Global(still(hourly(8*each, "a"))))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		d, _ := httplimit.FromContext(r.Context())
		keep <- kept{r, r.URL.Path, d.Remaining}
	}))
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			for i := range each {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", fmt.Sprintf("/%d/%d", client, i), nil))
			}
		})
	}
	clients.Wait()
	close(keep)
	var remaining []int
	for k := range keep {
		d, _ := httplimit.FromContext(k.r.Context())
		require.Equal(t, k.remaining, d.Remaining)
		require.Equal(t, k.path, k.r.URL.Path)
		remaining = append(remaining, d.Remaining)
	}
	slices.Sort(remaining)
	require.Len(t, slices.Compact(remaining), 8*each, "each has a decision of its own")
}

func TestTheHandlersRequestIsACopy(t *testing.T) {
	body := strings.NewReader("body")
	r := httptest.NewRequest("POST", "/path?query", body)
	r.Header.Set("A", "b")
	before := *r
	httplimit.Limit()(http.HandlerFunc(func(_ http.ResponseWriter, copied *http.Request) {
		require.NotSame(t, r, copied)
		text, err := io.ReadAll(copied.Body)
		require.NoError(t, err)
		require.Equal(t, "body", string(text))
		require.Equal(t, r.Header, copied.Header)
		require.Equal(t, r.RemoteAddr, copied.RemoteAddr)
		copied.URL, copied.RemoteAddr, copied.Method = &url.URL{Path: "/other"}, "", "GET"
	})).ServeHTTP(httptest.NewRecorder(), r)
	require.Equal(t, before, *r)
}

func TestAHandlerAroundSeesThePatternThatWasFound(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("GET /path", sayOK)
	h := httplimit.Limit()(mux)
	for path, want := range map[string]string{"/path": "GET /path", "/lost": ""} {
		r := httptest.NewRequest("GET", path, nil)
		h.ServeHTTP(httptest.NewRecorder(), r)
		require.Equal(t, want, r.Pattern)
	}
}

func TestTheFilesOfAnUploadAreDeleted(t *testing.T) {
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	part, err := parts.CreateFormFile("file", "name")
	require.NoError(t, err)
	_, err = part.Write(make([]byte, 64<<10))
	require.NoError(t, err)
	require.NoError(t, parts.Close())

	upload := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil {
			t.Error(err)
			return
		}
		file, err := r.MultipartForm.File["file"][0].Open()
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		fmt.Fprint(w, file.(*os.File).Name()) // a file, as it is large
	})
	for name, m := range map[string]httplimit.Middleware{
		"plain":   {Layers: layersOf()},
		"settled": {Layers: layersOf(), Settle: func(*http.Request, int) int { return 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			overTLS(t, func(t *testing.T, start starter) {
				s := start(httplimit.Limit()(m.Handler(upload)))
				response, err := s.Client().Post(s.URL, parts.FormDataContentType(), bytes.NewReader(form.Bytes()))
				require.NoError(t, err)
				path, err := io.ReadAll(response.Body)
				require.NoError(t, errors.Join(err, response.Body.Close()))
				s.Close() // HTTP/1 deletes them when all is sent
				require.NotEmpty(t, path)
				require.NoFileExists(t, string(path))
			})
		})
	}
}
