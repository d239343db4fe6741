package httplimit

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestARefusalIsBareThatDoesNotSayWhen: neither by Retry-After nor by a policy that
// has nothing left for some time.
func TestARefusalIsBareThatDoesNotSayWhen(t *testing.T) {
	for field, want := range map[string]bool{
		"":                      true,
		`"a";r=0`:               true,
		`"a";r=0;t=30`:          false,
		`"a";r=0, "b";r=1;t=9`:  true,
		`"a";r=0, "b";r=5;t=9`:  true,
		`"a";r=0;t=0`:           true,
		`"a";r=0;t=9, "b";r=5`:  false,
		`"a";r=5;t=9, "b";r=0`:  true,
		`"a";r=0;t=1, "b";r=0`:  false,
		`"a";r=-1;t=1, "b";r=0`: true,
	} {
		h := http.Header{}
		if field != "" {
			h[keyLimit] = []string{field}
		}
		a := readAsk(&http.Response{StatusCode: http.StatusTooManyRequests, Header: h}, time.Time{})
		require.True(t, a.refused, field)
		require.Equal(t, want, a.bare, field)
	}
}
