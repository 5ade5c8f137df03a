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
	"sync"

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
	// maxBeyond is up to how many metrics over the limit are counted.
	maxBeyond = 100_000
)

// metrics collects what a program reports: the curves, and the last value of each metric. It
// is not safe for concurrent use.
type metrics struct {
	// say writes a line into the trial's log.
	say func(format string, arguments ...any)

	steps   map[source]int64
	order   []string
	series  map[string]*series
	pending int
	// sources are the processes that logged metrics, with what was left out of them.
	sources map[source]*reports
	// complaints counts lines that cannot be read; left are the names of values that are no numbers, as far as the
	// log names them, beyond those of the metrics over the limit.
	complaints int
	left       map[string]bool
	beyond     map[string]bool
	// kept are the metrics that are accepted whatever the number of others: by them trials compete.
	kept []string
	// dropped counts calls and lines of which something was dropped because its step came before the last
	// one or the run was finished, wrongSteps lines whose step is no whole number.
	dropped, wrongSteps int
	// exit is the exit code that the program reported, besides that of its process.
	exit    int
	problem string
	// labels are what the program calls its run, and labelled which process said so.
	labels   sweep.RunLabels
	labelled map[string]source
	// replaying means that lines are those of earlier executions, resumed that no line with a point has followed them;
	// back are the processes of which that is so.
	replaying, resumed bool
	back               map[source]bool
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
	begun   bool
	earlier earlier
	// owner is the process whose values these are. Held ones are not taken: a process that comes before the owner
	// may log them too.
	owner source
	held  bool
}

func newMetrics(say func(format string, arguments ...any), kept ...string) *metrics {
	return &metrics{say: say, series: map[string]*series{}, left: map[string]bool{}, beyond: map[string]bool{},
		kept: kept, steps: map[source]int64{}, sources: map[source]*reports{}, labelled: map[string]source{},
		back: map[source]bool{}}
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
	h := m.head(fields)
	step := m.steps[h.source] + 1
	if h.stepped {
		step = h.step
	}
	fields = slices.DeleteFunc(fields, func(f field) bool {
		return f.own != nil || !h.reserved && f.name == "step" || strings.HasPrefix(f.name, "_")
	})
	points, late := 0, false
	for _, f := range m.ownedBy(h.source, fields) {
		s := m.named(f, h.source)
		switch {
		case s == nil:
		case h.summary:
			s.summary = f.number
		case m.value(s, step, f.number):
			s.summary = f.number
			points++
		default:
			late = true
		}
	}
	if late {
		m.dropped++
	}
	if !h.summary && (points > 0 || h.stepped) {
		if points > 0 {
			m.resumed = false
		}
		if m.back[h.source] && points > 0 {
			delete(m.back, h.source)
			m.steps[h.source] = min(m.steps[h.source], step-1) // the checkpoint may be older than the last line
		}
		m.advance(h.source, step)
	}
}

// head is what a line says besides metrics.
type head struct {
	// reserved means that it is in an object of its own, which no metric can be confused with.
	reserved bool
	step     int64
	stepped  bool
	summary  bool
	source   source
}

// head reads what a line says besides metrics: from the object with the name "_" or, in lines without
// one, from the names "step", "_summary" and so on among the metrics.
func (m *metrics) head(fields []field) (h head) {
	prefix := "_"
	if i := slices.IndexFunc(fields, func(f field) bool { return f.own != nil }); i >= 0 {
		h.reserved, prefix, fields = true, "", fields[i].own
	}
	if h.reserved {
		h.source = sourceOf(fields)
	}
	for _, f := range fields {
		name, own := strings.CutPrefix(f.name, prefix)
		switch {
		case f.name == "step":
			if h.stepped = f.numeric && f.number == math.Trunc(f.number) && math.Abs(f.number) <= 1<<53; h.stepped {
				h.step = int64(f.number)
			} else {
				m.wrongSteps++
			}
		case !own:
		case name == "summary":
			h.summary = f.number == 1
		case name == "exit":
			if m.exit = int(f.number); m.exit == 0 && f.number != 0 {
				m.exit = 1
			}
		case name == "error":
			m.problem = f.text
		case name == "dropped" && h.reserved:
			m.dropped++
		case name == "name", name == "group", name == "notes", name == "tags":
			if first, said := m.labelled[name]; !said || first == h.source || h.source.rank < first.rank {
				m.labelled[name] = h.source
				m.label(name, f)
			}
		}
	}
	return h
}

// advance goes on to a step of a process. All its points of the steps before it can be taken.
func (m *metrics) advance(from source, step int64) {
	if step <= m.steps[from] {
		return
	}
	m.steps[from] = step
	for _, name := range m.order {
		if s := m.series[name]; s.owner == from && s.pending && s.step < step {
			s.points.Steps, s.points.Values = append(s.points.Steps, s.step), append(s.points.Values, s.value)
			s.pending = false
			m.count(s)
		}
	}
}

// count notes that a series has another point to be taken.
func (m *metrics) count(s *series) {
	switch {
	case !s.held:
		m.pending++
	case len(s.points.Steps) >= heldPoints:
		s.held = false
		m.pending += len(s.points.Steps)
	}
}

// label reads what the program calls its run; the last one of each kind counts.
func (m *metrics) label(name string, f field) {
	if !f.quoted {
		m.complain("%s must be a text: %s", f.name, clip([]byte(f.text)))
		return
	}
	switch name {
	case "name":
		m.labels.Name = f.text
	case "group":
		m.labels.Group = f.text
	case "notes":
		m.labels.Notes = f.text
	case "tags":
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
func (m *metrics) named(f field, from source) *series {
	if s := m.series[f.name]; s != nil && f.numeric {
		return s
	}
	var problem string
	switch err := sweep.CheckName("metric", f.name); {
	case err != nil:
		problem = err.Error()
	case !f.numeric:
		problem = "is no number and is left out: " + clip([]byte(f.text))
	case len(m.series) >= maxMetrics && !slices.Contains(m.kept, f.name):
		m.leaveOut(f.name)
		return nil
	default:
		s := &series{points: sweep.Curve{Metric: f.name}, owner: from, held: m.holds(from)}
		m.series[f.name] = s
		m.order = append(m.order, f.name)
		return s
	}
	if len(m.left) < namedComplaints && !m.left[f.name] {
		m.left[f.name] = true
		m.say("$SWEEP_EVENTS: %.200s %s", f.name, problem)
		if len(m.left) == namedComplaints {
			m.say("$SWEEP_EVENTS: further names of values that are left out are not listed")
		}
	}
	return nil
}

// leaveOut counts a metric over the limit. The log has one line for all of them.
func (m *metrics) leaveOut(name string) {
	if len(m.beyond) == 0 {
		m.say("$SWEEP_EVENTS: %.200s and the metrics after it are left out: a trial has at most %d metrics", name,
			maxMetrics)
	}
	if len(m.beyond) < maxBeyond {
		m.beyond[name] = true
	}
}

// value takes a value of a metric at a step, and reports whether the curve has it.
func (m *metrics) value(s *series, step int64, value float64) bool {
	if s.earlier.open {
		m.settle(s, step)
	}
	if !m.replaying {
		return m.point(s, step, float32(value))
	}
	if s.begun && step < s.step {
		return false
	}
	s.begun, s.step = true, step
	s.earlier.samples = append(s.earlier.samples, sample{step, value})
	return true
}

// point adds a point to a curve, in which steps ascend, and reports whether it does.
func (m *metrics) point(s *series, step int64, value float32) bool {
	switch {
	case s.begun && (step < s.step || step == s.step && !s.pending):
		return false
	case s.pending && step > s.step:
		s.points.Steps = append(s.points.Steps, s.step)
		s.points.Values = append(s.points.Values, s.value)
		m.count(s)
	}
	s.begun, s.pending, s.step, s.value = true, true, step, value
	return true
}

// take returns the points since the last call; at the end of the trial also those that were
// kept back.
func (m *metrics) take(end bool) (batch []sweep.Curve) {
	if end {
		m.settleAll()
	}
	for _, name := range m.order {
		s := m.series[name]
		if end && s.pending {
			s.points.Steps = append(s.points.Steps, s.step)
			s.points.Values = append(s.points.Values, s.value)
			s.pending = false
		}
		if len(s.points.Steps) > 0 && (end || !s.held) {
			batch = append(batch, s.points)
			s.points = sweep.Curve{Metric: name}
		}
	}
	m.pending = 0
	return batch
}

// summary returns the last value of each metric, and the names of all, sorted.
func (m *metrics) summary() (values map[string]float64, names []string) {
	values = map[string]float64{}
	for name, s := range m.series {
		values[name] = s.summary
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
	// own, if not nil, are the fields of the object reserved, and this is no metric.
	own []field
}

// reserved is the name of the object in which a line says what is no metric.
const reserved = "_"

var errNotFlat = errors.New("is no JSON object on one line")

// parseLine reads a flat JSON object in which NaN, Infinity and -Infinity are numbers, with the
// object reserved. Of values with the same name the last one counts.
func parseLine(line []byte) ([]field, error) { return parseObject(quoteNumbers(line)) }

func parseObject(object []byte) ([]field, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
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
		f.read(raw)
		if f.name == reserved && raw[0] == '{' {
			if f.own, err = parseObject(raw); err != nil {
				return nil, err
			}
			f.own = append([]field{}, f.own...) // not nil
		}
		same := func(other field) bool { return other.name == f.name && (other.own == nil) == (f.own == nil) }
		if i := slices.IndexFunc(fields, same); i >= 0 {
			fields[i] = f
		} else {
			fields = append(fields, f)
		}
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
var textOrNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"?|NaN|-?Infinity`) })

// quoteNumbers turns NaN, Infinity and -Infinity outside of strings into strings, since
// encoding/json rejects them.
func quoteNumbers(line []byte) []byte {
	if !bytes.Contains(line, []byte("NaN")) && !bytes.Contains(line, []byte("Inf")) {
		return line
	}
	return textOrNumber().ReplaceAllFunc(line, func(found []byte) []byte {
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
