package paper

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestFlops holds the published formulas and the sums of their first rows to the figures that were
// worked out from the paper by hand, at n = 128 and m1 = m2 = 16.
func TestFlops(t *testing.T) {
	table, err := Flops(128, 16, 16, func(m1, m2 int, norms, products bool) (int, int, error) { return 100, 200, nil })
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := table.Write(&text, "json", false); err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Algorithm          string
		Published, Counted int
		Summed             *int     `json:"by_first_rows"`
		Ratio              *float64 `json:"counted_by_first_rows"`
	}
	if err := json.Unmarshal([]byte(text.String()), &rows); err != nil {
		t.Fatal(err, text.String())
	}
	want := []struct{ published, summed, counted int }{
		{768, 0, 100}, {512, 0, 100}, {1664, 0, 200}, {1408, 0, 200}, {1152, 0, 200},
		{15360, 15424, 100}, {23808, 35424, 200}, {7936, 7712, 100}, {13824, 17712, 200},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, w := range want {
		r := rows[i]
		if r.Published != w.published || r.Counted != w.counted || (r.Summed == nil) != (w.summed == 0) ||
			r.Summed != nil && (*r.Summed != w.summed || *r.Ratio != float64(w.counted)/float64(w.summed)) {
			t.Errorf("%s: %+v, want %+v", r.Algorithm, r, w)
		}
	}
	for format, part := range map[string]string{
		"csv":      "algorithm,formula,published,by_first_rows,counted",
		"text":     "4n(m1+m2) − 2m1² − 2m2² + O(n)",
		"latex":    `4n(m1+m2) $-$ 2m1$^2$ $-$ 2m2$^2$ + O(n)`,
		"markdown": "| oRNN-Local BP(n, m) | 7nm − 2m² + O(n) | 13824 | 17712 | 200 |",
	} {
		text.Reset()
		if err := table.Write(&text, format, false); err != nil || !strings.Contains(text.String(), part) {
			t.Errorf("%s: %v, without %q:\n%s", format, err, part, text.String())
		}
	}
}
