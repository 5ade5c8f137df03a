package file

import (
	"strings"
	"testing"
)

// Parameters are replaced one by one, other keys whole; null removes; what is new comes last; comments stay.
func TestOverride(t *testing.T) {
	const base = `# why
name: base
replicates: 3
parameters:
  lr: {values: [1, 2]} # fast
  model: {value: rnn}
exclude:
  - {lr: 1}
`
	got, err := Override([]byte(base), []byte(`name: other
exclude: null
unknown: null
parameters:
  lr: {value: 4}
  model: null
  epochs: {value: 2}
select: {by: loss}
`))
	const want = `# why
name: other
replicates: 3
parameters:
  lr: {value: 4}
  epochs: {value: 2}
select: {by: loss}
`
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
	for _, bad := range [][2]string{{"- 1\n", base}, {base, "text"}, {base, ""}, {"a: [", base}, {base, "a: ["}} {
		if _, err := Override([]byte(bad[0]), []byte(bad[1])); err == nil ||
			!strings.Contains(err.Error(), "mapping") && !strings.Contains(err.Error(), ": ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
