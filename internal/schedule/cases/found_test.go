package cases

import (
	"fmt"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/schedule"
)

// TestTakeAsIsByThePolicyOfTheKey: also if that has been the policy of all until
// just now.
func TestTakeAsIsByThePolicyOfTheKey(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			explore(t, schedule.Options{}, func() (threads []func(), check func() error) {
				w := newClients(k)
				_ = w.SetPolicy(plan)
				var d weir.Decision
				threads = []func(){
					func() { d = w.clients.TakeAs(here, 1, plan) },
					func() { _ = w.SetPolicy(lower) },
				}
				return threads, func() error {
					if d.Policy != plan.Name() {
						return fmt.Errorf("it is decided by %s", d.Policy)
					}
					return nil
				}
			})
		})
	}
}
