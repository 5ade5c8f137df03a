package file

import (
	"strings"
	"testing"

	"sweep/sweep"
)

// measured is a trainer with parameters that change what its validation measures.
func measured() *sweep.Description {
	return &sweep.Description{Name: "measured", ResultVersion: "1", Parameters: []sweep.ParameterSchema{
		{Name: "dataset", Type: sweep.StringType, Default: "A", Measures: true},
		{Name: "task", Type: sweep.StringType, Default: "classes",
			Defaults: []sweep.ConditionalDefault{{When: sweep.Match{"dataset": {"text"}}, Value: "words"}}},
		{Name: "length", Type: sweep.IntegerType, Default: int64(10), Measures: true,
			MeasuresWhen: sweep.Match{"task": {"classes"}}},
		{Name: "model", Type: sweep.StringType, Default: "rnn", Enum: []any{"rnn", "lstm", "ornn"}},
		{Name: "lr", Type: sweep.NumberType, Default: 0.1},
		{Name: "rule", Type: sweep.StringType, Default: "final", Enum: []any{"final", "best"}, Measures: true},
		{Name: "refit", Type: sweep.NumberType, Default: 0.2, Measures: true,
			AppliesWhen: sweep.Match{"rule": {"final"}},
			Defaults:    []sweep.ConditionalDefault{{When: sweep.Match{"model": {"ornn"}}, Value: 0.5}}},
		{Name: "seed", Type: sweep.IntegerType, Default: int64(1)},
		{Name: "held", Type: sweep.NumberType, Default: 0.2,
			Defaults: []sweep.ConditionalDefault{{When: sweep.Match{"dataset": {"whole"}}, Value: int64(0)}}},
	}, Metrics: []sweep.MetricSchema{
		{Name: "validation_loss", Goal: "minimize", Summary: true, AbsentWhen: sweep.Match{"held": {int64(0)}}},
		{Name: "seconds", Summary: true},
		{Name: "test_loss", Goal: "minimize", Summary: true, Part: sweep.TestPart},
		{Name: "train_loss", Goal: "minimize", Summary: true, Part: sweep.TrainPart},
	}}
}

// TestGroups: parameters that change what is measured do not compete, whatever the order
// of their values, unless they part the groups.
func TestGroups(t *testing.T) {
	const absent = "trials with held 0 do not report validation_loss, so it cannot select among them: select by another " +
		"metric, as in select: {by: train_loss}"
	const part = " in one group, but it changes how validation_loss is measured, or leaves it as it is, so " +
		"validation_loss cannot choose between them: " +
		"give it one value, or add it to the groups, as in select: {group: [dataset, model, refit]}"
	for name, test := range map[string]struct {
		text    string
		message string // of the error; "" if the file is good
	}{
		"values": {"parameters: {lr: {values: [1, 2]}, refit: {values: [0, 0.2, 0.5]}}",
			"x.yaml:1:56: parameters.refit: refit is 0 and 0.2" + part},
		"values, reversed": {"parameters: {refit: {values: [0.5, 0.2, 0]}, lr: {values: [1, 2]}}",
			"x.yaml:1:36: parameters.refit: refit is 0.5 and 0.2" + part},
		"a range": {"parameters: {refit: {min: 0, max: 1, q: 0.5}}", "x.yaml:1:14: parameters.refit: " +
			"refit is 0 and 0.5"},
		"one value": {"parameters: {lr: {values: [1, 2]}, refit: {value: 0.5}}\nreplicates: 3", ""},
		"groups":    {"parameters: {refit: {values: [0, 0.5]}}\nselect: {group: [dataset, model, refit]}", ""},
		"groups without": {"parameters: {refit: {value: 0}, model: {values: [rnn, ornn]}}\nselect: {group: " +
			"[dataset]}", ""},
		"defaults": {"parameters: {model: {values: [rnn, lstm, ornn]}}\nselect: {group: [dataset]}",
			"x.yaml:2:1: select: refit is by default 0.2 and 0.5 in one group"},
		"defaults, apart": {"parameters: {model: {values: [rnn, lstm, ornn]}}", ""},
		"zipped":          {"parameters: {model: {values: [rnn, lstm]}, refit: {values: [0, 0.5]}}\nzip: [[model, refit]]", ""},
		"zipped with others": {"parameters: {model: {values: [rnn, lstm, rnn]}, refit: {values: [0, 0.5, " +
			"0.5]}}\nzip: [[model, refit]]", "parameters.refit: refit is 0 and 0.5"},
		"conditional": {"parameters: {model: {values: [rnn, lstm]}, refit: {value: 0, when: {model: rnn}}}", ""},
		"conditional, mixed": {"parameters: {lr: {values: [1, 2]}, refit: {value: 0, when: {lr: 1}}}",
			"parameters.refit: refit is 0 and 0.2"},
		"excluded": {"parameters: {model: {values: [rnn, lstm]}, lr: {values: [1, 2]}, refit: {values: [0, 0.5]}}\n" +
			"exclude: [{model: rnn, refit: 0.5}, {model: lstm, refit: 0}]", ""},
		"excluded in part": {"parameters: {lr: {values: [1, 2]}, refit: {values: [0, 0.5]}}\nexclude: [{lr: 1, " +
			"refit: 0.5}]", "parameters.refit: refit is 0 and 0.5"},
		"data sets": {"parameters: {dataset: {values: [A, B]}}\nselect: {group: [model]}",
			"x.yaml:1:36: parameters.dataset: dataset is \"A\" and \"B\" in one group"},
		"rules": {"parameters: {rule: {values: [final, best]}}", "parameters.rule: rule is \"final\" and " +
			"\"best\" in one group"},
		"rules, apart": {"parameters: {rule: {values: [final, best]}, refit: {value: 0.2}}\nselect: {group: " +
			"[model, rule]}", ""},
		"measuring here": {"parameters: {length: {values: [1, 2]}}",
			"parameters.length: length is 1 and 2 in one group"},
		"and not there": {"parameters: {dataset: {value: text}, length: {values: [1, 2]}}", ""},
		"drawn": {"method: random\nrun_cap: 5\nparameters: {refit: {min: 0.1, max: 0.9}}",
			"parameters.refit: refit is 0.10"},
		"drawn, another": {"method: random\nrun_cap: 5\nparameters: {lr: {min: 0.1, max: 0.9}, refit: {value: 0}}",
			""},
		"searched": {"method: bayes\nrun_cap: 5\nparameters: {dataset: {values: [A, B]}}", "x.yaml:3:36: " +
			"parameters.dataset: dataset is \"A\" and \"B\", but it changes how validation_loss is measured, or leaves it as " +
			"it is, so a search by validation_loss cannot choose between them"},
		"searched, by model": {"method: bayes\nrun_cap: 5\nparameters: {model: {values: [rnn, lstm]}, lr: {min: 0.1, max: " +
			"0.2}}", ""},
		"many": {"parameters: {lr: {min: 1, max: 100000000}, seed: {min: 1, max: 1000}, model: {values: " +
			"[rnn, ornn]}}", ""},
		"absent": {"parameters: {lr: {values: [1, 2]}, held: {values: [0.5, 0]}}",
			"x.yaml:1:57: parameters.held: " + absent},
		"absent by default": {"parameters: {dataset: {value: whole}}", "x.yaml:1:1: parameters: " + absent},
		"absent in a part": {"parameters: {model: {values: [rnn, lstm]}, held: {value: 0, when: {model: lstm}}}",
			"parameters.held: " + absent},
		"absent, by name": {"parameters: {held: {value: 0}}\nselect: {by: validation_loss}", "x.yaml:2:1: select: " +
			absent},
		"absent, by the metric": {"metric: {name: validation_loss}\nparameters: {held: {value: 0}}",
			"x.yaml:1:1: metric: " + absent},
		"absent, excluded": {"parameters: {lr: {value: 1}, held: {values: [0.5, 0]}}\nexclude: [{held: 0}]", ""},
		"another":          {"parameters: {held: {value: 0}}\nselect: {by: train_loss}", ""},
		"the metric":       {"parameters: {refit: {values: [0, 0.5]}}\nselect: {by: nothing}", "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode("x.yaml", []byte(test.text), Options{Description: measured()})
			switch {
			case test.message == "" && err != nil:
				t.Error(err)
			case test.message != "" && (err == nil || !strings.Contains(err.Error(), test.message)):
				t.Errorf("%v, want %s", err, test.message)
			}
		})
	}
}
