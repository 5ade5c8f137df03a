package file

import (
	"cmp"
	"fmt"
	"slices"

	"sweep/sweep"
)

// stoppingTypes are the values of early_terminate.type.
var stoppingTypes = []string{"median", "halving", "hyperband"}

// median is how trials are stopped by the median, nil if they are not.
func (d *decoder) median() *sweep.Median {
	if s := d.file.Spec.Stopping; s != nil {
		return s.Median
	}
	return nil
}

// decodeStopping decodes by what trials are stopped early.
func (d *decoder) decodeStopping() {
	entries, ok := d.section("early_terminate")
	if !ok {
		return
	}
	where := d.top["early_terminate"].where
	i := slices.IndexFunc(entries, func(e entry) bool { return e.key == "type" })
	if i < 0 {
		d.fail(where, "early_terminate", "needs the key type, as in {type: median}")
		return
	}
	typed := at(entries[i].value)
	kind, ok := d.text(entries[i].value, "early_terminate.type")
	if !ok {
		return
	}
	entries = slices.Delete(slices.Clone(entries), i, i+1)
	switch kind {
	case "median":
		d.decodeMedian(entries)
	case "halving":
		d.halving = append([]entry{}, entries...)
	case "hyperband":
		d.decodeHyperband(entries)
	default:
		d.failName(typed, "early_terminate.type", fmt.Sprintf("must be median, halving or hyperband, not %s",
			shorten(kind)), kind, stoppingTypes)
	}
}

// decodeMedian decodes the keys of {type: median}.
func (d *decoder) decodeMedian(entries []entry) {
	median := &sweep.Median{Batch: sweep.DefaultBatch, StartupTrials: sweep.DefaultStartupTrials}
	for _, e := range entries {
		path := join("early_terminate", e.key)
		switch e.key {
		case "startup_trials":
			median.StartupTrials, _ = d.integer(e.value, path, 1, sweep.MedianWindow)
		case "warmup_steps":
			median.WarmupSteps, _ = d.integer(e.value, path, 0, 1<<53)
		default:
			d.failName(e.where, clip(path), "is not a key of {type: median}", e.key, []string{"type", "startup_trials",
				"warmup_steps"})
		}
	}
	d.file.Spec.Stopping = &sweep.Stopping{Median: median}
}

// decodeHyperband decodes the keys of {type: hyperband}, which are W&B's.
func (d *decoder) decodeHyperband(entries []entry) {
	where := d.top["early_terminate"].where
	given := map[string]int64{}
	h := &sweep.Hyperband{Eta: sweep.DefaultEta, Strict: true}
	for _, e := range entries {
		path := join("early_terminate", e.key)
		switch e.key {
		case "min_iter", "max_iter":
			given[e.key], _ = d.integer(e.value, path, 1, 1<<53)
		case "s":
			given[e.key], _ = d.integer(e.value, path, 1, sweep.MostBands)
		case "eta":
			schema := sweep.ParameterSchema{Type: sweep.NumberType}
			if v, err := schema.Coerce(plain(e.value)); err != nil {
				d.fail(at(e.value), path, "must be a number, as in 3, not %s", kindName(e.value))
			} else if h.Eta = v.(float64); h.Eta <= 1 { // as the schema has it
				d.fail(at(e.value), path, "must be above 1, as in 3: the best third passes")
				return
			}
		case "strict":
			h.Strict = d.boolean(e.value, path)
		default:
			d.note(e.where, clip(path), "ignored: W&B's hyperband has no such key")
		}
	}
	switch {
	case given["max_iter"] > 0 && given["s"] > 0:
		h.Bands = sweep.BandsUpTo(given["max_iter"], given["s"], h.Eta)
	case given["min_iter"] > 0 && given["max_iter"] == 0:
		h.Bands = sweep.BandsFrom(given["min_iter"], h.Eta)
	case len(d.errors) == 0:
		d.fail(where, "early_terminate", "{type: hyperband} needs min_iter, as in {type: hyperband, min_iter: 3}, or "+
			"max_iter and s")
	}
	if len(h.Bands) == 0 && len(d.errors) == 0 {
		d.fail(where, "early_terminate", "no trial is ever compared: max_iter / eta is below 1")
	}
	d.file.Spec.Stopping = &sweep.Stopping{Hyperband: h}
}

// checkStopping finds the metric by which trials are stopped: that of the key metric, else that of select. The trainer
// must report it while it trains.
func (d *decoder) checkStopping() {
	stopping := d.file.Spec.Stopping
	if stopping == nil {
		return
	}
	by := d.target
	if by.By == "" {
		by = d.file.Spec.Select
	}
	if d.description != nil {
		by = by.Filled(d.description)
	}
	where := d.top["early_terminate"].where
	stopping.Metric, stopping.Goal = by.By, cmp.Or(by.Goal, sweep.Minimize)
	switch {
	case by.By == "" && (d.description != nil || d.script()):
		d.fail(where, "early_terminate", "needs the metric that is to be small or large, as in metric: {name: loss, "+
			"goal: minimize}")
	case d.description != nil:
		if m := d.description.Metric(by.By); m != nil && !m.Curve {
			d.fail(where, "early_terminate", "trainer %s reports %s only at the end of a trial, which is too late to "+
				"stop it%s", d.description.Name, by.By, d.curves())
		}
	}
}

// curves names metrics by which trials of the trainer could be stopped.
func (d *decoder) curves() string {
	for _, m := range d.description.Metrics {
		if m.Curve && m.Goal != "" {
			return fmt.Sprintf("; %s is reported during training, as in metric: {name: %s, goal: %s}", m.Name, m.Name,
				m.Goal)
		}
	}
	return "; no metric of it has steps"
}
