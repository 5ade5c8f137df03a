package paper

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestBounds(t *testing.T) {
	table := Bounds([]Bound{
		{Trial: "0", Dataset: "CBF", Model: "spectral-rnn", Theorem: "5", Rows: 30, Margin: .5, Train: .25, Test: .5,
			Complexity: 1234567, Term: math.Inf(1), Bound: 8},
		{Trial: "0", Dataset: "CBF", Model: "spectral-rnn", Theorem: "corollary 1", Rows: 30, Margin: .5, Train: .25,
			Test: .5, Complexity: 2, Term: 3, Bound: math.NaN()},
		{Trial: "1", Dataset: "har-2", Model: "sgornn", Theorem: "1 (SGORNN)", Rows: 10, Margin: math.NaN(), Start: true},
	}, .05, []string{"Not shown: 1 trials."})
	if !table.Rules[2] || table.Rules[1] {
		t.Errorf("lines are drawn before %v", table.Rules)
	}
	for format, parts := range map[string][]string{
		"text":  {"probability 0.95", "5 ", "0.5  0.25", "1.23e+06", "∞", "1 (SGORNN) †", "Not shown", "† h(0)"},
		"latex": {`$\gamma$`, `$\infty$`},
		"csv": {"trial,dataset,model,theorem,rows,margin,train,test,gap,complexity,term,bound,start\n",
			"0,CBF,spectral-rnn,5,30,0.5,0.25,0.5,0.25,1.234567e+06,,8,false\n"},
	} {
		var out strings.Builder
		if err := table.Write(&out, format, false); err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s lacks %q:\n%s", format, part, out.String())
			}
		}
	}
	var out strings.Builder
	var rows []map[string]any
	if err := table.Write(&out, "json", false); err != nil || json.Unmarshal([]byte(out.String()), &rows) != nil ||
		len(rows) != 3 || rows[1]["bound"] != nil || rows[2]["start"] != true {
		t.Errorf("%v: %s", err, out.String())
	}
}
