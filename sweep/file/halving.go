package file

import (
	"math"

	"sweep/sweep"
)

// decodeHalving decodes the keys of {type: halving}, when the parameters are known.
func (d *decoder) decodeHalving() {
	entries := d.halving
	if entries == nil {
		return
	}
	from, eta, cohort := int64(1), int64(sweep.DefaultEta), int64(0)
	name, named := "", false
	for _, e := range entries {
		path := join("early_terminate", e.key)
		switch e.key {
		case "min_iter":
			from, _ = d.integer(e.value, path, 1, math.MaxInt64)
		case "eta":
			eta, _ = d.integer(e.value, path, 2, 1000)
		case "cohort":
			cohort, _ = d.integer(e.value, path, 2, sweep.MostHalving)
		case "parameter":
			name, named = d.text(e.value, path)
		default:
			d.failName(e.where, clip(path), "is not a key of {type: halving}", e.key,
				[]string{"type", "parameter", "min_iter", "eta", "cohort"})
		}
	}
	where := d.top["early_terminate"].where
	if !named {
		name = d.budgetParameter()
	}
	if name == "" {
		d.fail(where, "early_terminate", "halving needs the parameter that is the number of epochs or steps, as in "+
			"parameter: epochs")
		return
	}
	by := d.file.Spec.Select
	if d.description != nil {
		by = by.Filled(d.description)
	}
	if by.By == "" && (d.description != nil || d.script()) {
		d.fail(where, "early_terminate", "needs the metric that is to be small or large, as in metric: {name: loss, "+
			"goal: minimize}")
	}
	to, ok := d.largest(name, where)
	if !ok || len(d.errors) > 0 {
		return
	}
	d.file.Spec.Halving = sweep.NewHalving(name, from, to, eta, cohort)
	if to/eta < from {
		d.fail(where, "early_terminate", "halving needs two rungs or more: %s is %d, and the rung before, %d, is "+
			"below min_iter: %d", name, to, to/eta, from)
	}
}

// budgetParameter is the parameter that says how long a trial trains: the only one of the file or of the trainer, "" if
// there is none or several.
func (d *decoder) budgetParameter() string {
	if d.description == nil {
		return ""
	}
	var own, all []string
	for _, s := range d.description.Parameters {
		if s.Budget {
			all = append(all, s.Name)
			if d.file.declared[s.Name] != nil {
				own = append(own, s.Name)
			}
		}
	}
	for _, names := range [][]string{own, all} {
		if len(names) == 1 {
			return names[0]
		}
	}
	return ""
}

// largest is the value of a parameter that is to have one, which is a whole number.
func (d *decoder) largest(name string, where position) (int64, bool) {
	var value any
	if p := d.file.declared[name]; p != nil {
		where = p.where
		if p.values.Len() == 0 { // its values are wrong, which has been said
			return 0, false
		}
		if p.values.Len() > 1 || p.values.Distribution != nil {
			d.fail(where, p.path, "halving varies this parameter: give it the largest value alone")
			return 0, false
		}
		value = p.values.At(0)
	} else if schema := d.schema(name); schema != nil {
		value = schema.Default
	} else {
		d.failName(where, "early_terminate.parameter", "this sweep has no parameter "+shorten(name), name, d.names())
		return 0, false
	}
	number, ok := sweep.Number(value)
	if !ok || number < 1 || number != math.Trunc(number) || number > 1<<53 {
		d.fail(where, "early_terminate.parameter", "%s must be a whole number above 0, not %s", name, valueText(value))
		return 0, false
	}
	return int64(number), true
}
