package script

import (
	"fmt"
	"math"
	"strings"

	"sweep/sweep"
)

// remarks are what is unusual about a program that has completed, by its result so far and the names of its metrics.
func (e *execution) remarks(m *metrics, r *sweep.Result, names []string) (remarks []string) {
	if metric := e.request.Script.Metric; metric != "" {
		s := m.series[metric]
		switch {
		case s == nil:
			logged := "no other was either"
			if len(names) > 0 {
				logged = "the program logged " + strings.Join(names[:min(len(names), 20)], ", ")
			}
			remarks = append(remarks, fmt.Sprintf("the sweep's metric %s was never logged; %s", metric, logged))
			if near := sweep.Nearest(metric, names); near != "" {
				remarks[0] += fmt.Sprintf(" (did you mean %q?)", near)
			}
		case math.IsNaN(s.summary) || math.IsInf(s.summary, 0):
			r.Diverged = true
		}
	}
	if m.dropped > 0 {
		remarks = append(remarks, fmt.Sprintf("%s dropped: the step came before the last one, or the run was finished",
			sweep.CountText(m.dropped, "log call")))
	}
	if m.wrongSteps > 0 {
		remarks = append(remarks, fmt.Sprintf("%s ignored: a step must be a whole number",
			sweep.CountText(m.wrongSteps, "step")))
	}
	if n := len(m.beyond); n > 0 {
		remarks = append(remarks, fmt.Sprintf("%s left out: a trial has at most %d metrics",
			sweep.CountText(n, "metric"),
			maxMetrics))
	}
	if m.complaints > 0 {
		remarks = append(remarks, fmt.Sprintf("%d lines on $SWEEP_EVENTS could not be read: see the log", m.complaints))
	}
	if several := m.severalProcesses(); several != "" {
		remarks = append(remarks, several)
	}
	return remarks
}
