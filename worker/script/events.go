package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sweep/sweep"
)

const (
	// MaxLine is the length of the longest line of metrics, in bytes.
	MaxLine = 64 << 10
	// maxMetrics bounds how many metrics a trial may have.
	maxMetrics = 1000
	// namedComplaints are written to the log; more are only counted.
	namedComplaints = 10
	// pendingPoints are sent together at most.
	pendingPoints = 4096
)

// metrics collects what a program reports: the curves, and the last value of each metric. It
// is not safe for concurrent use.
type metrics struct {
	// say writes a line into the trial's log.
	say func(format string, arguments ...any)

	step    int64
	order   []string
	series  map[string]*series
	pending int
	// complaints counts lines that cannot be read; left are the names of values that are not
	// numbers and were logged.
	complaints int
	left       map[string]bool
	// exit is the exit code that the program reported, besides that of its process.
	exit    int
	problem string
	// labels are what the program calls its run.
	labels sweep.RunLabels
}

// series is one metric.
type series struct {
	// points are those not taken yet. The newest is kept back, in step and value, until the program goes on to
	// the next step, since another value may come for its step.
	points  sweep.Curve
	pending bool
	step    int64
	value   float32
	summary float64
	// begun means that step is that of a point.
	begun bool
	// late means that a point came out of order.
	late bool
}

func newMetrics(say func(format string, arguments ...any)) *metrics {
	return &metrics{say: say, series: map[string]*series{}, left: map[string]bool{}}
}

// complain logs what is wrong with a line.
func (m *metrics) complain(format string, arguments ...any) {
	if m.complaints++; m.complaints <= namedComplaints {
		m.say("$SWEEP_EVENTS: "+format, arguments...)
	}
}

// line reads one line of metrics.
func (m *metrics) line(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	fields, err := parseLine(line)
	if err != nil {
		m.complain("%v: %s", err, clip(line))
		return
	}
	summary := false
	step, stepped := m.step+1, false
	for _, f := range fields {
		switch f.name {
		case "_summary":
			summary = f.number == 1
		case "_exit":
			if m.exit = int(f.number); m.exit == 0 && f.number != 0 {
				m.exit = 1
			}
		case "_error":
			m.problem = f.text
		case "_name", "_group", "_notes", "_tags":
			m.label(f)
		case "step":
			if !f.numeric || f.number != math.Trunc(f.number) || math.Abs(f.number) > 1<<53 {
				m.complain("step must be a whole number: %s", clip(line))
				return
			}
			step, stepped = int64(f.number), true
		}
	}
	points := 0
	for _, f := range fields {
		if f.name == "step" || strings.HasPrefix(f.name, "_") {
			continue
		}
		s := m.named(f)
		if s == nil {
			continue
		}
		s.summary = f.number
		if !summary {
			m.point(f.name, s, step, float32(f.number))
			points++
		}
	}
	if !summary && (points > 0 || stepped) {
		m.advance(step)
	}
}

// advance goes on to a step. All points of the steps before it can be taken.
func (m *metrics) advance(step int64) {
	if step <= m.step {
		return
	}
	m.step = step
	for _, name := range m.order {
		if s := m.series[name]; s.pending && s.step < step {
			s.points.Steps, s.points.Values = append(s.points.Steps, s.step), append(s.points.Values, s.value)
			s.pending = false
			m.pending++
		}
	}
}

// label reads what the program calls its run; the last one of each kind counts.
func (m *metrics) label(f field) {
	if !f.quoted {
		m.complain("%s must be a text: %s", f.name, clip([]byte(f.text)))
		return
	}
	switch f.name {
	case "_name":
		m.labels.Name = f.text
	case "_group":
		m.labels.Group = f.text
	case "_notes":
		m.labels.Notes = f.text
	case "_tags":
		m.labels.Tags = nil
		if f.text != "" {
			m.labels.Tags = strings.Split(f.text, ",")
		}
	}
}

// runLabels returns the labels as they are kept, nil if there are none; the log says what is not.
func (m *metrics) runLabels() *sweep.RunLabels {
	kept, problem := m.labels.Clean()
	if problem != "" {
		m.say("$SWEEP_EVENTS: %s", problem)
	}
	if kept.Name+kept.Group+kept.Notes == "" && len(kept.Tags) == 0 {
		return nil
	}
	return &kept
}

// named returns the series of a field, nil if its name or value is not accepted.
func (m *metrics) named(f field) *series {
	if s := m.series[f.name]; s != nil && f.numeric {
		return s
	}
	problem := ""
	switch err := sweep.CheckName("metric", f.name); {
	case err != nil:
		problem = err.Error()
	case !f.numeric:
		problem = "is no number and is left out: " + clip([]byte(f.text))
	case len(m.series) >= maxMetrics:
		problem = fmt.Sprintf("is left out: a trial has at most %d metrics", maxMetrics)
	}
	if problem == "" {
		s := &series{points: sweep.Curve{Metric: f.name}}
		m.series[f.name] = s
		m.order = append(m.order, f.name)
		return s
	}
	if len(m.left) < maxMetrics && !m.left[f.name] {
		m.left[f.name] = true
		m.say("$SWEEP_EVENTS: %.200s %s", f.name, problem)
	}
	return nil
}

// point adds a point to a curve, in which steps ascend.
func (m *metrics) point(name string, s *series, step int64, value float32) {
	switch {
	case s.begun && (step < s.step || step == s.step && !s.pending):
		if !s.late {
			s.late = true
			m.say("$SWEEP_EVENTS: %s: step %d after step %d: it counts for the summary, not for the curve", name,
				step, s.step)
		}
		return
	case s.pending && step > s.step:
		s.points.Steps = append(s.points.Steps, s.step)
		s.points.Values = append(s.points.Values, s.value)
		m.pending++
	}
	s.begun, s.pending, s.step, s.value = true, true, step, value
}

// take returns the points since the last call; at the end of the trial also those that were
// kept back.
func (m *metrics) take(end bool) (batch []sweep.Curve) {
	for _, name := range m.order {
		s := m.series[name]
		if end && s.pending {
			s.points.Steps = append(s.points.Steps, s.step)
			s.points.Values = append(s.points.Values, s.value)
			s.pending = false
		}
		if len(s.points.Steps) > 0 {
			batch = append(batch, s.points)
			s.points = sweep.Curve{Metric: name}
		}
	}
	m.pending = 0
	return batch
}

// summary returns the last finite value of each metric that has one, and the
// names of all, sorted.
func (m *metrics) summary() (values map[string]float64, names []string) {
	values = map[string]float64{}
	for name, s := range m.series {
		if !math.IsNaN(s.summary) && !math.IsInf(s.summary, 0) {
			values[name] = s.summary
		}
	}
	return values, slices.Sorted(maps.Keys(m.series))
}

// field is one value of a line.
type field struct {
	name    string
	numeric bool
	number  float64
	quoted  bool
	text    string // a string, which quoted says, or the JSON of any other value
}

var (
	errNotFlat  = errors.New("is no JSON object on one line")
	errRepeated = errors.New("has a name twice")
)

// parseLine reads a flat JSON object in which NaN, Infinity and -Infinity are
// numbers.
func parseLine(line []byte) ([]field, error) {
	decoder := json.NewDecoder(bytes.NewReader(quoteNumbers(line)))
	if brace, err := decoder.Token(); err != nil || brace != json.Delim('{') {
		return nil, errNotFlat
	}
	var fields []field
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, errNotFlat
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, errNotFlat
		}
		f := field{name: fmt.Sprint(name)}
		if slices.ContainsFunc(fields, func(other field) bool { return other.name == f.name }) {
			return nil, errRepeated
		}
		f.read(raw)
		fields = append(fields, f)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errNotFlat
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) { // more on the line
		return nil, errNotFlat
	}
	return fields, nil
}

// read decodes a value.
func (f *field) read(raw []byte) {
	f.text = string(raw)
	switch {
	case f.text == "true":
		f.numeric, f.number = true, 1
	case f.text == "false":
		f.numeric = true
	case raw[0] == '"':
		if number, ok := quotedNumbers[f.text]; ok {
			f.numeric, f.number = true, number
			return
		}
		var text string
		if json.Unmarshal(raw, &text) == nil {
			f.quoted, f.text = true, text
		}
	default:
		if number, err := strconv.ParseFloat(f.text, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			f.numeric, f.number = true, number
		}
	}
}

// quotedNumbers are the numbers that JSON lacks, as quoteNumbers writes them. Programs do not
// escape letters like this.
var quotedNumbers = map[string]float64{
	`"\u004eaN"`: math.NaN(), `"\u0049nfinity"`: math.Inf(1), `"-\u0049nfinity"`: math.Inf(-1),
}

// textOrNumber matches a JSON string, or a number that JSON lacks.
var textOrNumber = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?|NaN|-?Infinity`)

// quoteNumbers turns NaN, Infinity and -Infinity outside of strings into strings, since
// encoding/json rejects them.
func quoteNumbers(line []byte) []byte {
	if !bytes.Contains(line, []byte("NaN")) && !bytes.Contains(line, []byte("Inf")) {
		return line
	}
	return textOrNumber.ReplaceAllFunc(line, func(found []byte) []byte {
		switch string(found) {
		case "NaN":
			return []byte(`"\u004eaN"`)
		case "Infinity":
			return []byte(`"\u0049nfinity"`)
		case "-Infinity":
			return []byte(`"-\u0049nfinity"`)
		}
		return found
	})
}

// clip shortens a line for a message.
func clip(line []byte) string {
	const longest = 120
	if len(line) > longest {
		line = append(slices.Clone(line[:longest]), "…"...)
	}
	return strings.ToValidUTF8(strconv.QuoteToGraphic(string(line)), "")
}
