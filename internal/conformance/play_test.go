package conformance_test

import (
	"encoding/json"
	"testing"

	"github.com/goweir/weir/internal/conformance"
	"github.com/stretchr/testify/require"
)

func load(t *testing.T, name string) conformance.File {
	files, err := conformance.Load("../../conformance")
	require.NoError(t, err)
	require.Contains(t, files, name)
	return files[name]
}

// TestPlayFindsADifferenceInAnyField: of any step that is answered.
func TestPlayFindsADifferenceInAnyField(t *testing.T) {
	for _, trace := range load(t, "by-hand.json").Traces {
		for i := range trace.Steps {
			step := &trace.Steps[i]
			was := *step
			if step.Verb == conformance.Refund || step.Verb == conformance.Reset || step.Verb == conformance.SetPolicy {
				continue
			}
			for _, change := range []func(){
				func() { step.Allowed = !step.Allowed },
				func() { step.Remaining++ },
				func() { step.Retry-- },
				func() { step.Part++ },
				func() { step.Answer.Reset++ },
			} {
				change()
				require.ErrorContains(t, conformance.Play(trace, conformance.Memory), "it should be", "%s, step %d", trace.Name, i)
				*step = was
			}
		}
	}
}

func TestAFileIsWrittenAsItIsRead(t *testing.T) {
	file := load(t, "by-hand.json")
	data, err := file.MarshalIndent()
	require.NoError(t, err)
	var again conformance.File
	require.NoError(t, json.Unmarshal(data, &again))
	require.Equal(t, file, again)
}

func TestAStepWithoutAllItsFieldsIsRefused(t *testing.T) {
	for _, text := range []string{`[]`, `[0,"take","a",1]`, `[0,"take","a",1,0]`, `[0,"refund","a",1,0,1,0,0,0,0]`, `[0.5,"refund","a",1,0]`, `{}`} {
		var step conformance.Step
		require.Error(t, json.Unmarshal([]byte(text), &step), text)
	}
}
