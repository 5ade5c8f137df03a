package sweep

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// Curve is one metric over a trial: Values[i] was measured at Steps[i] (an
// epoch, counted from 1, unless the metric's schema says otherwise). Steps
// ascend. Values are single precision: a curve is for looking at, the summary
// keeps full precision.
type Curve struct {
	Metric string
	Steps  []int64
	Values []float32
}

// curveJSON carries both arrays as the binary forms that stores keep.
type curveJSON struct {
	Metric string `json:"metric"`
	Steps  []byte `json:"steps"`
	Values []byte `json:"values"`
}

// MarshalJSON writes the arrays in base64: a thousand points cost 6 kB.
func (c Curve) MarshalJSON() ([]byte, error) {
	return json.Marshal(curveJSON{c.Metric, EncodeSteps(c.Steps), EncodeValues(c.Values)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Curve) UnmarshalJSON(data []byte) error {
	var raw curveJSON
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	steps, err := DecodeSteps(raw.Steps)
	if err != nil {
		return fmt.Errorf("curve %q: %w", raw.Metric, err)
	}
	values, err := DecodeValues(raw.Values)
	if err != nil {
		return fmt.Errorf("curve %q: %w", raw.Metric, err)
	}
	if len(steps) != len(values) {
		return fmt.Errorf("curve %q: %d steps but %d values", raw.Metric, len(steps), len(values))
	}
	c.Metric, c.Steps, c.Values = raw.Metric, steps, values
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

// Recorder gathers the points of one trial and keeps each curve within a limit
// by the thinning rule: with stride k, the smallest power of two for which it
// fits, the points whose ordinal (counted from 1) is a multiple of k are kept,
// and the last point always. The rule depends on the points alone, so a curve
// is the same however its points were batched.
type Recorder struct {
	limit  int
	order  []string
	curves map[string]*recording
}

type recording struct {
	curve     Curve
	stride    int64
	seen      int64
	lastStep  int64
	lastValue float32
}

// NewRecorder returns a Recorder that keeps at most limit points a curve, plus
// the last; limit < 2 is taken as 2.
func NewRecorder(limit int) *Recorder {
	return &Recorder{limit: max(limit, 2), curves: map[string]*recording{}}
}

// Add appends the points of a batch.
func (r *Recorder) Add(batch []Curve) {
	for _, c := range batch {
		rec := r.curves[c.Metric]
		if rec == nil {
			rec = &recording{curve: Curve{Metric: c.Metric}, stride: 1}
			r.curves[c.Metric] = rec
			r.order = append(r.order, c.Metric)
		}
		for i, step := range c.Steps {
			rec.add(step, c.Values[i], r.limit)
		}
	}
}

func (r *recording) add(step int64, value float32, limit int) {
	r.seen++
	r.lastStep, r.lastValue = step, value
	if r.seen%r.stride != 0 {
		return
	}
	r.curve.Steps = append(r.curve.Steps, step)
	r.curve.Values = append(r.curve.Values, value)
	if len(r.curve.Steps) <= limit {
		return
	}
	// Element i has ordinal (i+1)·stride: the odd elements fit the doubled stride.
	n := 0
	for i := 1; i < len(r.curve.Steps); i += 2 {
		r.curve.Steps[n], r.curve.Values[n] = r.curve.Steps[i], r.curve.Values[i]
		n++
	}
	r.curve.Steps, r.curve.Values = r.curve.Steps[:n], r.curve.Values[:n]
	r.stride *= 2
}

// Curves returns the curves in the order in which their first points came. The
// slices are copies.
func (r *Recorder) Curves() []Curve {
	curves := make([]Curve, 0, len(r.order))
	for _, metric := range r.order {
		rec := r.curves[metric]
		c := Curve{Metric: metric}
		c.Steps = append(c.Steps, rec.curve.Steps...)
		c.Values = append(c.Values, rec.curve.Values...)
		if rec.seen%rec.stride != 0 {
			c.Steps = append(c.Steps, rec.lastStep)
			c.Values = append(c.Values, rec.lastValue)
		}
		curves = append(curves, c)
	}
	return curves
}
