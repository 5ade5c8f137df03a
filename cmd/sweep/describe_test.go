package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/model/system"
	"sweep/sweep"
)

// describe returns the text of a description.
func describe(t *testing.T, d *sweep.Description) string {
	t.Helper()
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	if err := writeDescription(cmd, d); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestDescribeBuiltin: the description fits into 100 columns and prints the source of
// every system, with its equations.
func TestDescribeBuiltin(t *testing.T) {
	fullOnly(t)
	trainer, err := model.NewTrainer()
	if err != nil {
		t.Fatal(err)
	}
	d, err := trainer.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := describe(t, d)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if width := utf8.RuneCountInString(line); width > describeWidth {
			t.Errorf("%d columns: %s", width, line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("blanks at the end of %q", line)
		}
	}
	flat := strings.Join(strings.Fields(text), " ")
	for _, s := range system.All {
		if !strings.Contains(flat, s.Name+" "+s.Doc+" ("+s.Source+")") {
			t.Errorf("system %s is not described with its source", s.Name)
		}
	}
	for _, p := range d.Parameters {
		if !strings.Contains(text, "\n"+p.Name+" ") {
			t.Errorf("parameter %s is not described", p.Name)
		}
	}
}

func TestDescribe(t *testing.T) {
	least := 0.5
	d := &sweep.Description{
		Name: "t", Version: "1", ResultVersion: "2",
		Parameters: []sweep.ParameterSchema{
			{Name: "kind", Type: sweep.StringType, Default: "a", Enum: []any{"a", "b"},
				Doc: "the kind\na: the first\nb: the other"},
			{
				Name: "rate", Type: sweep.NumberType, Default: 1.0, Minimum: &least, ExclusiveMinimum: true,
				Doc: strings.Repeat("word ", 20) + "end",
				Defaults: []sweep.ConditionalDefault{
					{When: sweep.Match{"kind": {"a"}}, Value: 2.0}, {When: sweep.Match{"other": {"x"}}, Value: 3.0},
					{When: sweep.Match{"kind": {"b"}}, Value: 2.0},
				},
				AppliesWhen: sweep.Match{"kind": {"b"}}, Neutral: 0.0,
				NeutralWhen: sweep.Match{"kind": {"a"}},
			},
		},
		Metrics: []sweep.MetricSchema{{Name: "loss", Doc: "the loss", Goal: "minimize", Unit: "nats", Curve: true,
			Summary: true, Part: sweep.ValidationPart, Diverged: new(20.0)}},
	}
	const want = `trainer t, version 1, results of version 2

PARAMETER
kind  string, a|b, default a
      the kind
        a  the first
        b  the other
rate  number, > 0.5, default 1
      default 2 for kind a|b
      default 3 for other x
      word word word word word word word word word word word word word word word word word word word
      word end
      applies for kind b
      neutral: 0 for kind a

METRIC
loss  minimize, validation, nats, curve, summary, 20 if diverged
      the loss
`
	if got := describe(t, d); got != want {
		t.Errorf("the description is\n%s\nwant\n%s", got, want)
	}
}
