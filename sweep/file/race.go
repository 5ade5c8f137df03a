package file

import (
	"slices"

	"sweep/sweep"
)

// decodeRace decodes race, whose replicates are the first axis.
func (d *decoder) decodeRace() {
	entries, ok := d.section("race")
	if !ok {
		return
	}
	race := &sweep.Race{Confidence: sweep.DefaultConfidence}
	d.file.Spec.Race = race
	for _, e := range entries {
		path := join("race", e.key)
		switch e.key {
		case "by":
			race.By = d.metric(e.value, path)
		case "goal":
			race.Goal = d.goal(e.value, path)
		case "confidence":
			schema := sweep.ParameterSchema{Type: sweep.NumberType}
			value, err := schema.Coerce(plain(e.value))
			if err != nil {
				d.fail(at(e.value), path, "must be a number, as in 0.95, not %s", kindName(e.value))
				break
			}
			race.Confidence = value.(float64) // as the schema has it
		default:
			d.failName(e.where, clip(path), "is not a key of race", e.key, []string{"by", "goal", "confidence"})
		}
	}
	where := d.top["race"].where
	if _, ok := d.given("replicates"); !ok {
		d.fail(where, "race", "needs replicates, of which it skips those of points that cannot be the best, as in "+
			"replicates: 10")
		return
	}
	by := race.By
	if by == "" && d.description != nil {
		by = race.Filled(d.file.Spec.Select, d.description).By
	} else if by == "" {
		by = d.file.Spec.Select.By
	}
	if by == "" && (d.description != nil || d.script()) {
		d.fail(where, "race", "needs the metric by which points are compared, as in race: {by: loss}")
	}
	if e, ok := d.top["early_terminate"]; ok {
		d.fail(e.where, "early_terminate", "does not go with race, which compares trials that run to their ends: "+
			"remove one of them")
	}
	if i := slices.IndexFunc(d.order, func(p *declaration) bool { return p.name == sweep.SeedParameter }); i > 0 {
		seed := d.order[i]
		d.order = slices.Insert(slices.Delete(d.order, i, i+1), 0, seed)
	}
}
