package replay

import (
	"testing"

	"github.com/goweir/weir/cmd/weir/internal/accesslog"
	"github.com/stretchr/testify/require"
)

func TestAgreementIsWhatTwoReplaysSay(t *testing.T) {
	rows := traffic(5000, 30)
	both := []Candidate{candidate(t, "fixed-window 10/m"), candidate(t, "token-bucket 12/m burst 6")}
	live, other := NewDecider(both[0], byAddress).Decide(rows, nil), NewDecider(both[1], byAddress).Decide(rows, nil)
	trials := NewTrials(both, accesslog.Address, byAddress)
	c := Compare(trials[0], trials[1])
	c.Add(rows[:2000])
	c.Add(rows[2000:])
	a := c.Agreement(3, name)
	var want Agreement
	byClient := map[uint64]*Difference{}
	for i := range live {
		d := byClient[rows[2*i+1]]
		if d == nil {
			d = &Difference{}
			byClient[rows[2*i+1]] = d
		}
		switch {
		case live[i] && other[i]:
			want.BothAdmit++
		case live[i]:
			want.NewlyDenied++
			d.NewlyDenied++
			d.CandidateDenied++
		case other[i]:
			want.NewlyAdmitted++
			d.NewlyAdmitted++
			d.LiveDenied++
		default:
			want.BothDeny++
			d.LiveDenied++
			d.CandidateDenied++
		}
	}
	for _, d := range byClient {
		if d.LiveDenied == 0 && d.CandidateDenied > 0 {
			want.ClientsNewlyDenied++
		}
		if d.LiveDenied > 0 && d.CandidateDenied == 0 {
			want.ClientsNewlyFree++
		}
	}
	require.NotZero(t, want.NewlyAdmitted)
	require.NotZero(t, want.NewlyDenied)
	require.Len(t, a.Denied, 3)
	require.GreaterOrEqual(t, a.Denied[0].NewlyDenied, a.Denied[1].NewlyDenied)
	for _, d := range append(a.Denied, a.Admitted...) {
		got := d
		got.Key, got.First = 0, 0
		require.Equal(t, *byClient[uint64(d.Key)], got)
	}
	a.Denied, a.Admitted = nil, nil
	require.Equal(t, want, a)
	require.InDelta(t, 100*float64(want.BothAdmit+want.BothDeny)/5000, a.Percent(), 1e-9)
	require.Equal(t, 100.0, Agreement{}.Percent())
}
