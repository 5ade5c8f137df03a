package file

import "sweep/sweep"

// maxBudget bounds the trials of a budget.
const maxBudget = 1_000_000_000

// decodeBudget reads what all trials together may use.
func (d *decoder) decodeBudget(e entry, path string) {
	entries, ok := d.entries(e.value, path)
	if !ok {
		return
	}
	budget := &sweep.Budget{}
	d.decodeFields(path, "budget", entries, budgetFields(budget))
	if len(entries) == 0 {
		d.fail(at(e.value), path, "needs trials, time, or both")
		return
	}
	d.file.Spec.Budget = budget
}

func (d *decoder) decodeLimits(e entry, path string) {
	entries, ok := d.entries(e.value, path)
	if !ok {
		return
	}
	limits := &d.file.Spec.Limits
	d.decodeFields(path, "limit", entries, limitFields(limits))
	where := at(e.value)
	_, asked := d.given("artifacts")
	if _, some := d.given("keep"); !asked && !some && limits.Artifact+limits.Artifacts > 0 {
		d.note(where, path, "artifact and artifacts bound nothing: the file asks for no artifacts")
	}
	if one, all := limits.ArtifactSizes(); one > all && limits.Artifacts > 0 && limits.Artifact > 0 {
		d.fail(where, path, "artifact is more than artifacts, which is for all of a trial together")
	}
}
