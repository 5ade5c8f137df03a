package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sweep/sweep"
)

// A trial has one reporting process. Of several that log a metric, as the ranks of a distributed training do, the
// first keeps it: that of the lowest rank, else the one that logged it first. Others add what it does not log.

// heldPoints is how many points of a process are held for one that comes before it.
const heldPoints = 1000

// source is a process that logs metrics, by its rank and what else tells it from others; all that do not say who they
// are, as programs in other languages, are one.
type source struct {
	rank    int
	process string
}

// reports is what came of a process.
type reports struct {
	// left counts the values that were left out, of the metrics in names.
	left  int
	names map[string]bool
}

// sourceOf reads who has written a line.
func sourceOf(head []field) (s source) {
	for _, f := range head {
		switch {
		case f.name == "process":
			s.process = f.text
		case f.name == "rank" && f.numeric && f.number > 0:
			s.rank = int(min(f.number, 1<<30))
		}
	}
	return s
}

// holds reports whether new metrics of a process are held: it is not the first, or does again what another does.
func (m *metrics) holds(from source) bool {
	r := m.sources[from]
	return from.rank > 0 || r != nil && r.left > 0
}

// ownedBy returns those of the fields that a process may set, and takes metrics over from those that come after it.
func (m *metrics) ownedBy(from source, fields []field) []field {
	r := m.sources[from]
	if r == nil {
		if len(m.sources) >= maxMetrics {
			return nil
		}
		r = &reports{names: map[string]bool{}}
		m.sources[from] = r
	}
	return slices.DeleteFunc(fields, func(f field) bool {
		s := m.series[f.name]
		switch {
		case s == nil || s.owner == from || !f.numeric:
			return false
		case s.earlier.open && from.rank <= s.owner.rank: // the process of this execution
			s.owner, s.held = from, s.held && m.holds(from)
			return false
		case s.held && (from.rank < s.owner.rank || from.rank == s.owner.rank && !m.holds(from)):
			if before := m.sources[s.owner]; before != nil {
				before.left += max(len(s.points.Steps), 1)
				before.names[f.name] = true
			}
			*s = series{points: sweep.Curve{Metric: f.name}, owner: from, held: m.holds(from)}
			return false
		}
		r.left++
		r.names[f.name] = true
		return true
	})
}

// severalProcesses says what was left out because several processes logged the same metrics, "" if nothing was.
func (m *metrics) severalProcesses() string {
	left, processes, names := 0, 0, map[string]bool{}
	for _, r := range m.sources {
		if r.left > 0 {
			left += r.left
			processes++
			maps.Copy(names, r.names)
		}
	}
	if left == 0 {
		return ""
	}
	const most = 5
	listed := slices.Sorted(maps.Keys(names))
	if len(listed) > most {
		listed = append(listed[:most], "…")
	}
	others := "another process"
	if processes > 1 {
		others = fmt.Sprintf("%d other processes", processes)
	}
	return fmt.Sprintf("more than one process logged %s: the values of the first (the lowest rank) are kept, %s of %s "+
		"left out", strings.Join(listed, ", "), sweep.CountText(left, "value"), others)
}
