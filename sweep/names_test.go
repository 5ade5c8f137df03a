package sweep

import (
	"reflect"
	"strings"
	"testing"
)

// odd are names of a sweep whose metrics and parameters are called like one another, like fields, or have operators.
func odd() *Names {
	n := NamesOf(&SweepRecord{Metrics: []string{"loss", "lr", "maP@[IoU=0.5]", "p<0.05", "acc, top-5", "acc", `n"q`,
		"seconds", "state", "C", "c", "metric.x", "a=", "top-5", " spaced", `"a"`, `"`, "lr and", `\`}})
	for name, numeric := range map[string]bool{"lr": true, "loss": false, "x": true, "metric.lr": true, "worker": true,
		`"`: true} {
		n.AddParameter(name, numeric)
	}
	return n
}

func TestFindName(t *testing.T) {
	n := odd()
	for text, want := range map[string][]Name{
		"lr": {"metric.lr", "parameter.lr"}, "metric.lr": {"parameter.metric.lr"}, `metric."lr"`: {"metric.lr"},
		"parameter.lr": {"parameter.lr"}, `"lr"`: {"metric.lr", "parameter.lr"}, "x": {"parameter.x"},
		"metric.x": {"metric.metric.x"}, `metric."x"`: nil, "seconds": {"metric.seconds", "trial.seconds"},
		"trial.seconds": {"trial.seconds"}, "worker": {"parameter.worker", "trial.worker"}, "C": {"metric.C"},
		"c": {"metric.c"}, `n"q`: {`metric.n"q`}, `"n\"q"`: {`metric.n"q`}, `"n""q"`: {`metric.n"q`},
		`metric.n"q`: {`metric.n"q`}, `metric."n\"q"`: {`metric.n"q`}, "trial.loss": nil, "nothing": nil, "": nil, `""`: nil,
		" x ": {"parameter.x"}, `" spaced"`: {"metric. spaced"}, `"x`: nil,
	} {
		if got := n.Find(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := n.Find("lr", ParameterKind); got[0] != "parameter.lr" {
		t.Errorf("lr as a parameter: %q", got)
	}
	asked := 0
	n.Further = func(name Name) bool { asked++; return name == "metric.late" || name.Is(FieldKind) }
	if got := n.Find("late"); len(got) != 1 || len(n.Find("late"))+len(n.Find("metric.late")) != 2 || asked != 2 {
		t.Errorf("a name that the trials are asked for: %q, asked %d times", got, asked)
	}
	if got := n.List("trial.seconds,late"); !reflect.DeepEqual(got, []string{"trial.seconds", "late"}) {
		t.Errorf("a list that begins with a field: %q", got)
	}
}

// Whatever is printed is read as what it was printed of, alone, in lists and in conditions.
func TestNamesRoundTrip(t *testing.T) {
	n := odd()
	var all []Name
	for own := range n.metrics {
		all = append(all, MetricKind.Of(own))
	}
	for own := range n.parameters {
		all = append(all, ParameterKind.Of(own))
	}
	for _, own := range TrialColumns {
		all = append(all, FieldKind.Of(own))
	}
	labels := map[string]Name{}
	for _, name := range all {
		label, quoted := n.Label(name), n.Quote(name)
		if other, taken := labels[label]; taken {
			t.Errorf("%q and %q are both printed as %s", name, other, label)
		}
		labels[label] = name
		for _, text := range []string{label, quoted} {
			if text == " spaced" { // around names spaces are left out
				continue
			}
			if found := n.Find(text); len(found) == 0 || found[0] != name {
				t.Errorf("%s, which is printed of %q, is read as %q", text, name, found)
			}
		}
		list := n.List("x," + quoted + " , loss")
		if len(list) != 3 || len(n.Find(list[1])) == 0 || n.Find(list[1])[0] != name {
			t.Errorf("%s in a list: %q", quoted, list)
		}
		head, rest := n.cutName(quoted + ">=1")
		if rest != ">=1" || len(n.Find(head)) == 0 || n.Find(head)[0] != name {
			t.Errorf("%s in a condition: %q %q", quoted, head, rest)
		}
	}
	for name, want := range map[Name]string{"parameter.lr": "parameter.lr", "metric.lr": `metric."lr"`,
		"metric.seconds": "seconds", "trial.seconds": "trial.seconds", "trial.worker": "trial.worker",
		"parameter.worker": "worker", "metric.loss": "metric.loss", "parameter.loss": "parameter.loss",
		"parameter.metric.lr": `"metric.lr"`, "metric.C": "C", "parameter.x": "x", "lr": "lr"} {
		if got := n.Label(name); got != want {
			t.Errorf("%s is printed as %s, want %s", name, got, want)
		}
	}
}

func TestListOfNames(t *testing.T) {
	n := odd()
	for text, want := range map[string][]string{
		"": nil, "lr": {"lr"}, "lr,loss": {"lr", "loss"}, "lr, acc, top-5, x": {"lr", "acc, top-5", "x"},
		`"acc, top-5",lr`: {`"acc, top-5"`, "lr"}, `metric."acc, top-5", "x"`: {`metric."acc, top-5"`, `"x"`},
		`n"q,C`: {`n"q`, "C"}, "a,b": {"a", "b"}, "top-5,acc": {"top-5", "acc"}, `"x`: {`"x`}, ",lr": {"", "lr"},
		`"acc", top-5`: {`"acc"`, "top-5"},
	} {
		if got := n.List(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestCondition(t *testing.T) {
	n := odd()
	for text, want := range map[string]TrialCondition{
		"maP@[IoU=0.5]>0.15":        {"metric.maP@[IoU=0.5]", ">", 0.15},
		"metric.maP@[IoU=0.5]>0.15": {"metric.maP@[IoU=0.5]", ">", 0.15},
		"p<0.05>=2":                 {"metric.p<0.05", ">=", int64(2)},
		"x = 1e-3":                  {"parameter.x", "=", 0.001},
		"x==1":                      {"parameter.x", "=", int64(1)},
		"x==a":                      {"parameter.x", "=", "a"},
		"x != a=b":                  {"parameter.x", "!=", "a=b"},
		`"p<0.05" <= 2`:             {"metric.p<0.05", "<=", int64(2)},
		`"n\"q"=1`:                  {`metric.n"q`, "=", int64(1)},
		`n"q=1`:                     {`metric.n"q`, "=", int64(1)},
		"acc, top-5>0.5":            {"metric.acc, top-5", ">", 0.5},
		"maP@[IoU=0.5]=2":           {"metric.maP@[IoU=0.5]", "=", int64(2)},
		"lr<1":                      {"parameter.lr", "<", int64(1)},
		"metric.lr<1":               {"parameter.metric.lr", "<", int64(1)},
		`metric."lr"<1`:             {"metric.lr", "<", int64(1)},
		"loss<0.15":                 {"metric.loss", "<", 0.15},
		"loss=l1":                   {"parameter.loss", "=", "l1"},
		"state=failed":              {"trial.state", "=", "failed"},
		"state>=1":                  {"metric.state", ">=", int64(1)},
		"seconds>1":                 {"metric.seconds", ">", int64(1)},
		"a==1":                      {"metric.a=", "=", int64(1)},
		"p<1":                       {"metric.p", "<", int64(1)},
		"lr=null":                   {"parameter.lr", "=", nil},
		"lr=":                       {"parameter.lr", Lacks, nil},
		"lr != ":                    {"parameter.lr", Has, nil},
		"x=9007199254740993":        {"parameter.x", "=", int64(1<<53 + 1)},
	} {
		if got, _, err := n.Condition(text); err != nil || got != want {
			t.Errorf("%s: %+v, want %+v: %v", text, got, want, err)
		}
	}
	for _, text := range []string{"", "=1", "lr", "lr<", "lr!1", `"lr" 1`, `"lr"`} {
		if got, _, err := n.Condition(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for text, want := range map[string]string{
		"x<>1": "no operator <>, only = != <", "x=~1": "no operator =~", "x=<1": "no operator =<", "x=>1": "no operator =>",
		"x===1": "no operator ===", "x<<1": "no operator <<", "trial.state<>failed": "no operator <>",
		"trial.state=complete": "expected one of [pending", "state=Completed": "expected one of [pending",
		"trial.state=1": "expected one",
		"index=x":       "index has only numbers", "trial.seconds>abc": "seconds has only numbers", "C=abc": "C has only numbers",
		`c<"1"`: "c has only numbers", "metric.loss=NaN": "loss has only numbers", "executions=true": "only numbers",
	} {
		if got, _, err := n.Condition(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", text, got, err, want)
		}
	}
	if _, all, _ := n.Condition("lr<1"); len(all) != 2 {
		t.Errorf("lr<1 may be about %q", all)
	}
	if _, all, _ := n.Condition("loss<1"); len(all) != 1 {
		t.Errorf("loss<1 may be about %q", all)
	}
}

func FuzzNames(f *testing.F) {
	for _, text := range []string{`a,"b\"`, `metric."`, "p<0.05>=2", `"",""`, `trial.`, `"\u00"=1`} {
		f.Add(text)
	}
	n := odd()
	f.Fuzz(func(_ *testing.T, text string) {
		n.List(text)
		n.Find(text)
		_, _, _ = n.Condition(text)
		n.Label(Name(text))
		n.Quote(Name(text))
	})
}
