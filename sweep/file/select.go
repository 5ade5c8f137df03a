package file

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// decodeSelect fills Spec.Select from select; what W&B's metric has filled in stays where select says nothing.
func (d *decoder) decodeSelect(e entry, path string) {
	entries, ok := d.entries(e.value, path)
	if !ok {
		return
	}
	selection := &d.file.Spec.Select
	fromMetric := *selection
	*selection = sweep.Select{}
	d.decodeFields(path, "key of select", entries, selectFields(selection, object{}, object{}))
	if selection.By == "" {
		selection.By, selection.Goal = fromMetric.By, cmp.Or(selection.Goal, fromMetric.Goal)
	}
	d.defaultGoal()
}

// selectFields are the keys of select.
func selectFields(s *sweep.Select, parameterName, metricName object) []field {
	return []field{
		{"group", documented(oneOrMore(parameterName), "The parameters that form the groups; by default dataset and "+
			"model, as far as the trainer has them."), func(d *decoder, e entry, path string) {
			names, nodes, _ := d.texts(e.value, path)
			for i, name := range names {
				if d.file.declared[name] == nil && d.schema(name) == nil {
					d.failName(at(nodes[i]), path, fmt.Sprintf("this sweep has no parameter %s", shorten(name)),
						name, d.names())
				}
			}
			s.Group = names
		}},
		{"by", documented(metricName, "The metric by which the grid points of a group are compared."),
			func(d *decoder, e entry, path string) { s.By = d.metric(e.value, path) }},
		{"goal", documented(goalSchema, "Whether the smallest or the largest value is best; by default the metric's "+
			"own goal."), func(d *decoder, e entry, path string) { s.Goal = d.goal(e.value, path) }},
	}
}

// metricFields are the keys of W&B's metric.
func metricFields(s *sweep.Select, metricName object) []field {
	fields := []field{
		{"name", metricName, func(d *decoder, e entry, path string) { s.By = d.metric(e.value, path) }},
		{"goal", goalSchema, func(d *decoder, e entry, path string) { s.Goal = d.goal(e.value, path) }},
	}
	for _, name := range []string{"target", "impute", "impute_while_running"} {
		fields = append(fields, field{name, true, func(d *decoder, e entry, path string) {
			d.note(e.where, path, "ignored, it means nothing here")
		}})
	}
	return fields
}

// decodeMetric reads {name, goal}; the other keys of W&B's metric guide
// searches that this program does not make.
func (d *decoder) decodeMetric(e entry, path string) {
	if e.value.Kind == yaml.SequenceNode && d.searches() {
		d.fail(at(e.value), path, oneObjective)
		return
	}
	entries, ok := d.entries(e.value, path)
	if !ok {
		return
	}
	d.decodeFields(path, "key of metric", entries, metricFields(&d.file.Spec.Select, object{}))
	if !slices.ContainsFunc(entries, func(e entry) bool { return e.key == "name" }) {
		d.fail(at(e.value), path, "needs the key name")
	}
	d.defaultGoal()
	d.target = d.file.Spec.Select
}

// metric reads the name of a metric that the trainer has.
func (d *decoder) metric(n *yaml.Node, path string) string {
	name, ok := d.text(n, path)
	if !ok || d.description == nil {
		return name
	}
	if m := d.description.Metric(name); m != nil {
		if m.Part == sweep.TestPart {
			d.note(at(n), path, "selects by the test data, which then cannot judge what was selected")
		}
		return name
	}
	var known []string
	for _, m := range d.description.Metrics {
		known = append(known, m.Name)
	}
	d.failName(at(n), path, fmt.Sprintf("trainer %s has no metric %s", d.description.Name, shorten(name)), name, known)
	return name
}

func (d *decoder) goal(n *yaml.Node, path string) string {
	goal, ok := d.text(n, path)
	if goals := []string{sweep.Minimize, sweep.Maximize}; ok && !slices.Contains(goals, goal) {
		d.failName(at(n), path, fmt.Sprintf("must be minimize or maximize, not %s", shorten(goal)), goal, goals)
	}
	return goal
}

// defaultGoal takes the goal from the trainer, else minimize.
func (d *decoder) defaultGoal() {
	selection := &d.file.Spec.Select
	if selection.By == "" || selection.Goal != "" {
		return
	}
	selection.Goal = sweep.Minimize
	if d.description != nil {
		if m := d.description.Metric(selection.By); m != nil && m.Goal != "" {
			selection.Goal = m.Goal
		}
	}
}
