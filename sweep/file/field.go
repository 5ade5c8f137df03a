package file

import (
	"fmt"
	"math"
	"slices"
	"time"

	"sweep/sweep"
)

// field is a key of a sweep file or of a section of one: its schema with its documentation, and what reads its value.
type field struct {
	name   string
	schema any
	read   func(d *decoder, e entry, path string)
}

// plainFields are the keys whose values stand for themselves.
func plainFields(spec *sweep.Spec) []field {
	return []field{
		{"name", textSchema("Shown in lists and tables; without it the name of the file."),
			func(d *decoder, e entry, path string) {
				if text, ok := d.text(e.value, path); ok {
					if !isLabel(text) {
						d.fail(at(e.value), path, "must be one line of at most 200 characters")
					}
					spec.Name = text
				}
			}},
		{"description", textSchema("Free text, shown with the sweep."), func(d *decoder, e entry, path string) {
			spec.Description, _ = d.text(e.value, path)
		}},
		{"tags", documented(oneOrMore(object{"type": "string"}), "The sweep's first tags; sweep tag changes them."),
			func(d *decoder, e entry, path string) {
				spec.Tags, _, _ = d.texts(e.value, path)
				if err := sweep.CheckTags(spec.Tags); err != nil {
					d.failCause(at(e.value), path, err)
				}
			}},
		{"pool", tokenSchema(sweep.DefaultPool, "The pool of workers that runs the trials."),
			func(d *decoder, e entry, path string) { d.plainToken(path, &spec.Pool) }},
		wholeField("priority", &spec.Priority, math.MinInt32, math.MaxInt32, 0,
			"Active sweeps with a larger priority run first."),
		wholeField("run_cap", &spec.Cap, 1, math.MaxInt64, nil, "The largest number of grid points: the first ones "+
			"are kept, or so many are drawn."),
		{"canary", documented(object{"type": "boolean", "default": true}, fmt.Sprintf("Whether the first trial runs "+
			"before the others, in sweeps of more than %d trials. If it fails, the sweep is paused.",
			sweep.CanaryPoints)),
			func(d *decoder, e entry, path string) { spec.Canary = d.boolean(e.value, path) }},
	}
}

// limitFields are the keys of limits.
func limitFields(l *sweep.Limits) []field {
	return []field{
		durationField("timeout", &l.Timeout, 0, "How long an execution may take, as in 90s, 10m, 1h30m."),
		durationField("silence", &l.Silence, time.Second, "How long an execution may report no metric, write nothing to "+
			"its log, and use no processor, as in 10m. Then it is ended as stalled, and the trial fails."),
		wholeField("attempts", &l.Attempts, 1, sweep.MaxAttempts, sweep.DefaultAttempts,
			"How many executions may fail by the trial's own fault."),
		wholeField("losses", &l.Losses, 1, sweep.MaxAttempts, sweep.DefaultLosses,
			"How many executions may lose their worker; raise it on preemptible machines."),
		wholeField("errors", &l.Errors, 0, sweep.MaxErrors, sweep.DefaultErrors, "How many trials in a row may fail "+
			"with the same error, numbers and paths aside, before the sweep is paused; 0 never pauses it."),
		wholeField("points", &l.Points, 2, sweep.MaxCurvePoints, sweep.DefaultPoints, "How many samples of a curve "+
			"are kept. Of a longer one, the smallest and the largest of every few samples and the last one are kept."),
		sizeField("artifact", &l.Artifact, "1GiB", "The largest size of an artifact, as in 500MB or 2GiB."),
		sizeField("artifacts", &l.Artifacts, "4GiB", "The largest size of all artifacts of a trial."),
	}
}

// budgetFields are the keys of budget.
func budgetFields(b *sweep.Budget) []field {
	return []field{
		wholeField("trials", &b.Trials, 1, maxBudget, nil,
			"How many trials may run to an end. Reused results cost nothing."),
		durationField("time", &b.Time, time.Second,
			"How long the executions of trials may take together, as in 90m or 3h."),
	}
}

// wholeField is a key with an integer.
func wholeField[N int | int64](name string, to *N, low, high int64, otherwise any, doc string) field {
	schema := object{"type": "integer"}
	if low > math.MinInt32 {
		schema["minimum"] = low
	}
	if high < math.MaxInt32 {
		schema["maximum"] = high
	}
	if otherwise != nil {
		schema["default"] = otherwise
	}
	return field{name, documented(schema, doc), func(d *decoder, e entry, path string) {
		value, _ := d.integer(e.value, path, low, high)
		*to = N(value)
	}}
}

// durationField is a key with a duration of at least so much.
func durationField(name string, to *time.Duration, least time.Duration, doc string) field {
	return field{name, documented(object{"type": "string", "pattern": durationPattern}, doc),
		func(d *decoder, e entry, path string) {
			text, ok := d.text(e.value, path)
			if !ok {
				return
			}
			duration, err := time.ParseDuration(text)
			switch *to = duration; {
			case err != nil || duration <= 0:
				d.fail(at(e.value), path, "must be a duration with its unit, as in 90s, 10m or 1h30m, not %s",
					shorten(text))
			case duration < least:
				d.fail(at(e.value), path, "must be a second or more, not %s", shorten(text))
			}
		}}
}

// sizeField is a key with a size in bytes.
func sizeField(name string, to *int64, otherwise, doc string) field {
	return field{name, documented(object{"type": "string", "default": otherwise}, doc),
		func(d *decoder, e entry, path string) { *to = d.size(e.value, path) }}
}

// decodeFields reads the entries of a section; what says what its keys are.
func (d *decoder) decodeFields(section, what string, entries []entry, fields []field) {
	for _, e := range entries {
		path := join(section, e.key)
		if i := slices.IndexFunc(fields, func(f field) bool { return f.name == e.key }); i >= 0 {
			fields[i].read(d, e, path)
			continue
		}
		var known []string
		for _, f := range fields {
			known = append(known, f.name)
		}
		d.failName(e.where, clip(path), "is not a "+what, e.key, known)
	}
}

// fieldSchemas are the schemas of keys, by name.
func fieldSchemas(fields []field) object {
	schemas := object{}
	for _, f := range fields {
		schemas[f.name] = f.schema
	}
	return schemas
}
