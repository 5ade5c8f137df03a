package file

import "sweep/sweep"

// maxBudget bounds the trials of a budget.
const maxBudget = 1_000_000_000

// decodeBudget reads what all trials together may use.
func (d *decoder) decodeBudget() {
	entries, ok := d.section("budget")
	if !ok {
		return
	}
	budget := &sweep.Budget{}
	d.decodeFields("budget", "budget", entries, budgetFields(budget))
	if len(entries) == 0 {
		d.fail(at(d.top["budget"].value), "budget", "needs trials, time, or both")
		return
	}
	d.file.Spec.Budget = budget
}

func (d *decoder) decodeLimits() {
	entries, ok := d.section("limits")
	if !ok {
		return
	}
	limits := &d.file.Spec.Limits
	d.decodeFields("limits", "limit", entries, limitFields(limits))
	where := at(d.top["limits"].value)
	_, asked := d.given("artifacts")
	if _, some := d.given("keep"); !asked && !some && limits.Artifact+limits.Artifacts > 0 {
		d.note(where, "limits", "artifact and artifacts bound nothing: the file asks for no artifacts")
	}
	if one, all := limits.ArtifactSizes(); one > all && limits.Artifacts > 0 && limits.Artifact > 0 {
		d.fail(where, "limits", "artifact is more than artifacts, which is for all of a trial together")
	}
}
