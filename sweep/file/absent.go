package file

import (
	"fmt"
	"strings"

	"sweep/sweep"
)

// checkAbsent rejects a metric to select by that, by the trainer's schema, some of the sweep's trials do not report.
func (d *decoder) checkAbsent() {
	if d.description == nil {
		return
	}
	by := d.description.Metric(d.file.Spec.Select.Filled(d.description).By)
	if by == nil || len(by.AbsentWhen) == 0 {
		return
	}
	names := map[string]bool{}
	d.decides(by.AbsentWhen, names)
	for point := range d.resolved(names) {
		if by.Absent(point) {
			d.failAbsent(by, point)
			return
		}
	}
}

// failAbsent reports that trials like the point do not report the metric.
func (d *decoder) failAbsent(by *sweep.MetricSchema, point sweep.Parameters) {
	where, path := d.file.parameters, "parameters"
	for _, key := range []string{"metric", "select"} {
		if e, ok := d.top[key]; ok {
			where, path = e.where, key
		}
	}
	var values []string
	for _, name := range by.AbsentWhen.Names() {
		if declared := d.file.declared[name]; declared != nil && path == "parameters" {
			where, path = declared.placeOf(point[name]), declared.path
		}
		values = append(values, name+" "+valueText(point[name]))
	}
	want := "another metric"
	for i := range d.description.Metrics {
		if m := &d.description.Metrics[i]; m.Summary && m.Goal != "" && m.Part != sweep.TestPart && !m.Absent(point) {
			want = fmt.Sprintf("another metric, as in select: {by: %s}", m.Name)
			break
		}
	}
	d.fail(where, path, "trials with %s do not report %s, so it cannot select among them: select by %s",
		strings.Join(values, ", "), by.Name, want)
}
