package sweep

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Curve is one metric over a trial: Values[i] was measured at Steps[i], which ascend (an epoch,
// from 1 on, unless the metric's schema says otherwise). Values are single precision: the summary
// has full precision.
//
// In a report of news the points replace those from Offset on. Those that a trainer sends to its
// [Sink] follow the earlier ones unless Replaces is set.
type Curve struct {
	Metric string
	Offset int
	Steps  []int64
	Values []float32
	// Replaces says that the curve is from [Recorder.News], already thinned.
	Replaces bool
}

// curveJSON carries both arrays as the binary forms that stores keep.
type curveJSON struct {
	Metric string `json:"metric"`
	Offset int    `json:"offset,omitempty"`
	Steps  []byte `json:"steps"`
	Values []byte `json:"values"`
}

// MarshalJSON writes the arrays in base64: a thousand points cost 6 kB.
func (c Curve) MarshalJSON() ([]byte, error) {
	return json.Marshal(curveJSON{c.Metric, c.Offset, EncodeSteps(c.Steps), EncodeValues(c.Values)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Curve) UnmarshalJSON(data []byte) error {
	var raw curveJSON
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	steps, stepsErr := DecodeSteps(raw.Steps)
	values, valuesErr := DecodeValues(raw.Values)
	if err := cmp.Or(stepsErr, valuesErr); err != nil {
		return fmt.Errorf("curve %q: %w", raw.Metric, err)
	}
	if len(steps) != len(values) {
		return fmt.Errorf("curve %q: %d steps but %d values", raw.Metric, len(steps), len(values))
	}
	if raw.Offset < 0 {
		return fmt.Errorf("curve %q: the offset %d", raw.Metric, raw.Offset)
	}
	c.Metric, c.Offset, c.Steps, c.Values = raw.Metric, raw.Offset, steps, values
	return nil
}

// Bounds are the smallest and the largest finite value.
func (c *Curve) Bounds() (low, high float32) {
	low, high = float32(math.Inf(1)), float32(math.Inf(-1))
	for _, v := range c.Values {
		if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}

// CheckCurves returns an error if a trial has curves, but not of all the requested metrics.
func CheckCurves(ctx context.Context, results Reader, id TrialID, metrics []string,
	found []Curve) error {
	for _, name := range metrics {
		if slices.ContainsFunc(found, func(c Curve) bool { return c.Metric == name }) {
			continue
		}
		all, err := results.Curves(ctx, id)
		if err != nil || len(all) == 0 {
			return err
		}
		var names []string
		for i := range all {
			names = append(names, all[i].Metric)
		}
		return fmt.Errorf("trial %v has no curve of %s; it has %s: %w", id, name, strings.Join(names, ", "),
			ErrNotFound)
	}
	return nil
}

// EncodeSteps writes steps as signed varints of their differences.
func EncodeSteps(steps []int64) []byte {
	dst := make([]byte, 0, len(steps)+8)
	var last int64
	for _, s := range steps {
		dst = binary.AppendVarint(dst, s-last)
		last = s
	}
	return dst
}

// DecodeSteps reads what EncodeSteps wrote.
func DecodeSteps(data []byte) ([]int64, error) {
	steps := make([]int64, 0, len(data))
	var last int64
	for len(data) > 0 {
		d, n := binary.Varint(data)
		if n <= 0 {
			return nil, fmt.Errorf("steps: broken varint at element %d", len(steps))
		}
		last += d
		steps = append(steps, last)
		data = data[n:]
	}
	return steps, nil
}

// EncodeValues writes values as little-endian IEEE 754 single precision.
func EncodeValues(values []float32) []byte {
	dst := make([]byte, 0, 4*len(values))
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

// DecodeValues reads what EncodeValues wrote.
func DecodeValues(data []byte) ([]float32, error) {
	if len(data)%4 != 0 {
		return nil, fmt.Errorf("values: %d bytes are no whole number of single-precision values", len(data))
	}
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values, nil
}

// Recorder collects the points of one trial and keeps each curve within a limit. A curve that
// fits is kept whole. A longer one is divided into runs of k points (k = 4, 8, 16 …, the smallest
// that fits), of which the smallest and the largest point are kept, so that no spike is lost, and
// the last point. NaN counts as larger than all numbers. The result does not depend on how the
// points were batched.
type Recorder struct {
	limit  int
	order  []string
	curves map[string]*recording
}

// recording is one curve. ordinals, steps and values have the points kept of full runs; an
// ordinal counts the points up to and including its own. low and high are the extremes of the run
// that is not full.
type recording struct {
	metric   string
	ordinals []int64
	steps    []int64
	values   []float32

	run  int64 // the length of a run
	seen int64
	low  point
	high point
	last point
	// told is how many of the kept points News has returned.
	told int
	// thinned says that the points came thinned: steps and values are the curve, and the rest is
	// unknown.
	thinned bool
}

// point is one point of a curve; its ordinal is 0 if there is none.
type point struct {
	ordinal, step int64
	value         float32
}

// above reports whether p is larger than q; no number is larger than all.
func (p point) above(q point) bool {
	if p.value != p.value {
		return q.value == q.value
	}
	return p.value > q.value
}

// firstRun is the first length of runs: shorter ones keep all of their points.
const firstRun = 4

// NewRecorder returns a Recorder that keeps at most limit points a curve, and the
// last; limit < 2 is taken as 2.
func NewRecorder(limit int) *Recorder {
	return &Recorder{limit: max(limit, 2), curves: map[string]*recording{}}
}

// Add appends the points of a batch. Curves that another Recorder of the same limit has
// thinned are taken as they are.
func (r *Recorder) Add(batch []Curve) {
	for _, c := range batch {
		rec := r.recording(c.Metric)
		switch {
		case c.Replaces:
			rec.replace(&c, r.limit)
		case rec.thinned:
			c.Offset = len(rec.steps)
			rec.replace(&c, r.limit)
		default:
			for i, step := range c.Steps {
				rec.add(step, c.Values[i], r.limit)
			}
		}
	}
}

// AddPoint appends a point of a curve that nobody thinned before.
func (r *Recorder) AddPoint(metric string, step int64, value float32) {
	r.recording(metric).add(step, value, r.limit)
}

// Replace gives a metric other points, as if they were the first.
func (r *Recorder) Replace(c Curve) {
	rec := r.recording(c.Metric)
	*rec = recording{metric: c.Metric, run: 1}
	for i, step := range c.Steps {
		rec.add(step, c.Values[i], r.limit)
	}
}

// Whole reports whether all points of all curves are kept.
func (r *Recorder) Whole() bool {
	for _, rec := range r.curves {
		if rec.thinned || rec.run > 1 {
			return false
		}
	}
	return true
}

// Limit is the largest number of points that are kept of a curve, but for the last.
func (r *Recorder) Limit() int { return r.limit }

// recording returns the curve of a metric, a new one if there is none.
func (r *Recorder) recording(metric string) *recording {
	rec := r.curves[metric]
	if rec == nil {
		rec = &recording{metric: metric, run: 1}
		r.curves[metric] = rec
		r.order = append(r.order, metric)
	}
	return rec
}

// replace replaces the points from an offset on by those of a thinned curve, and thins the result
// if it is too long.
func (r *recording) replace(c *Curve, limit int) {
	offset := min(c.Offset, len(r.steps))
	r.thinned = true
	r.steps, r.values = append(r.steps[:offset], c.Steps...), append(r.values[:offset], c.Values...)
	r.told = min(r.told, offset)
	if len(r.steps) <= limit+1 {
		return
	}
	steps, values := r.steps, r.values
	*r = recording{metric: r.metric, run: 1}
	for i, step := range steps {
		r.add(step, values[i], limit)
	}
}

func (r *recording) add(step int64, value float32, limit int) {
	r.seen++
	r.last = point{r.seen, step, value}
	r.extend(r.last)
	if r.seen%r.run != 0 {
		return
	}
	r.close()
	if r.run == 1 && len(r.steps) > limit {
		r.thin(firstRun)
	}
	for r.run > 1 && len(r.steps) > limit-2 { // two are left for the run that is not full
		r.thin(2 * r.run)
	}
}

// extend takes a point into the run that is not full.
func (r *recording) extend(p point) {
	if r.low.ordinal == 0 || r.low.above(p) {
		r.low = p
	}
	if r.high.ordinal == 0 || p.above(r.high) {
		r.high = p
	}
}

// close keeps the extremes of the run that is full now, in order.
func (r *recording) close() {
	first, second := r.extremes()
	r.keep(first)
	if second.ordinal != first.ordinal {
		r.keep(second)
	}
	r.low, r.high = point{}, point{}
}

// extremes returns the extremes of the run that is not full, in order.
func (r *recording) extremes() (first, second point) {
	if r.high.ordinal < r.low.ordinal {
		return r.high, r.low
	}
	return r.low, r.high
}

func (r *recording) keep(p point) {
	r.ordinals, r.steps, r.values = append(r.ordinals, p.ordinal), append(r.steps, p.step), append(r.values, p.value)
}

// thin makes the runs longer: the extremes of a run are those of the extremes of its parts.
func (r *recording) thin(run int64) {
	ordinals, steps, values := r.ordinals, r.steps, r.values
	r.run, r.told = run, 0
	r.ordinals, r.steps, r.values = ordinals[:0], steps[:0], values[:0] // what is kept never overtakes what is read
	for i := range ordinals {
		p := point{ordinals[i], steps[i], values[i]}
		if r.low.ordinal != 0 && (p.ordinal-1)/run != (r.low.ordinal-1)/run {
			r.close()
		}
		r.extend(p)
	}
	if r.seen%run == 0 {
		r.close()
	}
}

// Curves returns copies of the curves in the order of their first points.
func (r *Recorder) Curves() []Curve {
	curves := make([]Curve, 0, len(r.order))
	for _, metric := range r.order {
		curves = append(curves, r.curves[metric].from(0))
	}
	return curves
}

// News returns what is new in the curves since the last call: the points from Offset on, or all
// of them where thinning has moved earlier ones.
func (r *Recorder) News() []Curve {
	curves := make([]Curve, 0, len(r.order))
	for _, metric := range r.order {
		rec := r.curves[metric]
		c := rec.from(rec.told)
		c.Replaces = true
		curves = append(curves, c)
		rec.told = len(rec.steps)
	}
	return curves
}

// Forget makes News return everything again, because what it returned was lost.
func (r *Recorder) Forget() {
	for _, rec := range r.curves {
		rec.told = 0
	}
}

// from returns the curve from a kept point on, the extremes of the run that is not
// full, and the last point.
func (r *recording) from(offset int) Curve {
	c := Curve{Metric: r.metric, Offset: offset}
	c.Steps = append(c.Steps, r.steps[offset:]...)
	c.Values = append(c.Values, r.values[offset:]...)
	first, second := r.extremes()
	var before int64
	if n := len(r.ordinals); n > 0 {
		before = r.ordinals[n-1]
	}
	for _, p := range []point{first, second, r.last} {
		if p.ordinal > before {
			before = p.ordinal
			c.Steps, c.Values = append(c.Steps, p.step), append(c.Values, p.value)
		}
	}
	return c
}

// recorderState is what a [Recorder] writes.
type recorderState struct {
	Limit  int
	Curves []recordingState
}

type recordingState struct {
	Metric                  string
	Ordinals, Steps, Values []byte
	Run, Seen               int64
	Partial                 []pointState // low, high and last
	Thinned                 bool
}

type pointState struct {
	Ordinal, Step int64
	Value         float32
}

// MarshalBinary writes the recorder's state, so that another one can continue.
func (r *Recorder) MarshalBinary() ([]byte, error) {
	state := recorderState{Limit: r.limit}
	for _, metric := range r.order {
		rec := r.curves[metric]
		one := recordingState{
			Metric: metric, Ordinals: EncodeSteps(rec.ordinals), Steps: EncodeSteps(rec.steps),
			Values: EncodeValues(rec.values),
			Run:    rec.run, Seen: rec.seen, Thinned: rec.thinned,
		}
		for _, p := range []point{rec.low, rec.high, rec.last} {
			one.Partial = append(one.Partial, pointState{p.ordinal, p.step, p.value})
		}
		state.Curves = append(state.Curves, one)
	}
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(state); err != nil {
		return nil, fmt.Errorf("curves: %w", err)
	}
	return data.Bytes(), nil
}

// UnmarshalBinary reads what MarshalBinary wrote. [Recorder.News] returns everything after it.
func (r *Recorder) UnmarshalBinary(data []byte) error {
	var state recorderState
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&state); err != nil {
		return fmt.Errorf("curves: %w", err)
	}
	*r = *NewRecorder(state.Limit)
	for _, one := range state.Curves {
		rec := &recording{metric: one.Metric, run: one.Run, seen: one.Seen, thinned: one.Thinned}
		var errs [3]error
		rec.ordinals, errs[0] = DecodeSteps(one.Ordinals)
		rec.steps, errs[1] = DecodeSteps(one.Steps)
		rec.values, errs[2] = DecodeValues(one.Values)
		if err := cmp.Or(errs[:]...); err != nil {
			return fmt.Errorf("curve %.100q: %w", one.Metric, err)
		}
		if len(rec.values) != len(rec.steps) || !rec.thinned && len(rec.ordinals) != len(rec.steps) || rec.run < 1 ||
			len(one.Partial) != 3 {
			return fmt.Errorf("curve %.100q: its parts do not fit each other", one.Metric)
		}
		for i, p := range []*point{&rec.low, &rec.high, &rec.last} {
			*p = point{one.Partial[i].Ordinal, one.Partial[i].Step, one.Partial[i].Value}
		}
		if r.curves[one.Metric] == nil {
			r.order = append(r.order, one.Metric)
		}
		r.curves[one.Metric] = rec
	}
	return nil
}
