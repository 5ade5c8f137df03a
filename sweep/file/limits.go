package file

import (
	"time"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// maxBudget bounds the trials of a budget.
const maxBudget = 1_000_000_000

// duration reads a duration.
func (d *decoder) duration(n *yaml.Node, path, text string) time.Duration {
	duration, err := time.ParseDuration(text)
	if err != nil || duration <= 0 {
		d.fail(at(n), path, "must be a duration with its unit, as in 90s, 10m or 1h30m, not %s", shorten(text))
	}
	return duration
}

// decodeBudget reads what all trials together may use.
func (d *decoder) decodeBudget() {
	entries, ok := d.section("budget")
	if !ok {
		return
	}
	budget := &sweep.Budget{}
	for _, e := range entries {
		path := join("budget", e.key)
		switch e.key {
		case "trials":
			budget.Trials, _ = d.integer(e.value, path, 1, maxBudget)
		case "time":
			text, ok := d.text(e.value, path)
			if !ok {
				break
			}
			if budget.Time = d.duration(e.value, path, text); budget.Time > 0 && budget.Time < time.Second {
				d.fail(at(e.value), path, "must be a second or more, not %s", shorten(text))
			}
		default:
			d.failName(e.where, clip(path), "is not a budget", e.key, []string{"trials", "time"})
		}
	}
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
	for _, e := range entries {
		path := join("limits", e.key)
		switch e.key {
		case "timeout":
			text, ok := d.text(e.value, path)
			if !ok {
				break
			}
			limits.Timeout = d.duration(e.value, path, text)
		case "attempts":
			attempts, _ := d.integer(e.value, path, 1, sweep.MostAttempts)
			limits.Attempts = int(attempts)
		case "losses":
			losses, _ := d.integer(e.value, path, 1, sweep.MostAttempts)
			limits.Losses = int(losses)
		case "errors":
			most, _ := d.integer(e.value, path, 0, sweep.MostErrors)
			limits.Errors = int(most)
		case "points":
			points, _ := d.integer(e.value, path, 2, sweep.MostCurvePoints)
			limits.Points = int(points)
		case "artifact":
			limits.Artifact = d.size(e.value, path)
		case "artifacts":
			limits.Artifacts = d.size(e.value, path)
		default:
			d.failName(e.where, clip(path), "is not a limit", e.key, []string{"timeout", "attempts", "losses", "errors",
				"points", "artifact", "artifacts"})
		}
	}
	where := at(d.top["limits"].value)
	_, asked := d.given("artifacts")
	if _, some := d.given("keep"); !asked && !some && limits.Artifact+limits.Artifacts > 0 {
		d.note(where, "limits", "artifact and artifacts bound nothing: the file asks for no artifacts")
	}
	if one, all := limits.ArtifactSizes(); one > all && limits.Artifacts > 0 && limits.Artifact > 0 {
		d.fail(where, "limits", "artifact is more than artifacts, which is for all of a trial together")
	}
}
