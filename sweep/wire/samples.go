package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"sweep/sweep"
)

// The curves of a message's events are one binary field: as JSON, a thousand epochs of six metrics
// took a third of the processor time for reporting their trial. For each list of curves, those of
// an event or of its result:
//
//	uvarint  the event's place in the message, times two; plus one for its result
//	uvarint  the number of curves
//
// and for each curve
//
//	uvarint, bytes  the metric
//	uvarint         the offset
//	uvarint         the number of points
//	uvarint, bytes  the steps, as sweep.EncodeSteps writes them; none where there are
//	                points: the steps of the curve before
//	bytes           the values, as sweep.EncodeValues writes them

// appendSamples appends a list of curves.
func appendSamples(data []byte, place int, curves []sweep.Curve) []byte {
	data = binary.AppendUvarint(data, uint64(place))
	data = binary.AppendUvarint(data, uint64(len(curves)))
	for i, c := range curves {
		data = appendBytes(data, []byte(c.Metric))
		data = binary.AppendUvarint(data, uint64(c.Offset))
		data = binary.AppendUvarint(data, uint64(len(c.Values)))
		if i > 0 && len(c.Steps) > 0 && slices.Equal(c.Steps, curves[i-1].Steps) {
			data = appendBytes(data, nil)
		} else {
			data = appendBytes(data, sweep.EncodeSteps(c.Steps))
		}
		data = append(data, sweep.EncodeValues(c.Values)...)
	}
	return data
}

func appendBytes(data, bytes []byte) []byte {
	return append(binary.AppendUvarint(data, uint64(len(bytes))), bytes...)
}

// withoutSamples returns the events without their curves, and those.
func withoutSamples(events []sweep.Event) (bare []sweep.Event, samples []byte) {
	size := 0
	for i := range events {
		for _, curves := range curvesOf(&events[i]) {
			for _, c := range *curves {
				size += 5*len(c.Values) + len(c.Metric) + 16
			}
		}
	}
	if size == 0 {
		return events, nil
	}
	samples = make([]byte, 0, size)
	bare = slices.Clone(events)
	for i := range bare {
		if result := bare[i].Result; result != nil {
			bare[i].Result = new(*result)
		}
		for result, curves := range curvesOf(&bare[i]) {
			if len(*curves) > 0 {
				samples = appendSamples(samples, 2*i+result, *curves)
				*curves = nil
			}
		}
	}
	return bare, samples
}

// curvesOf are the lists of curves of an event: its own and its result's.
func curvesOf(e *sweep.Event) []*[]sweep.Curve {
	if e.Result == nil {
		return []*[]sweep.Curve{&e.Curves}
	}
	return []*[]sweep.Curve{&e.Curves, &e.Result.Curves}
}

// errSamples means that the samples end within a curve.
var errSamples = errors.New("samples: they end too early")

// sampleReader reads what appendSamples wrote.
type sampleReader struct {
	data []byte
	err  error
}

func (r *sampleReader) number() int {
	n, size := binary.Uvarint(r.data)
	if size <= 0 || n > 1<<31 {
		r.data, r.err = nil, errSamples
		return 0
	}
	r.data = r.data[size:]
	return int(n)
}

func (r *sampleReader) bytes(n int) []byte {
	if n > len(r.data) {
		r.data, r.err = nil, errSamples
		return nil
	}
	bytes := r.data[:n]
	r.data = r.data[n:]
	return bytes
}

// addSamples gives the events the curves that withoutSamples took from them.
func addSamples(events []sweep.Event, samples []byte) error {
	r := sampleReader{data: samples}
	for len(r.data) > 0 {
		place := r.number()
		count := r.number()
		if r.err == nil && place/2 >= len(events) {
			return fmt.Errorf("samples of event %d: the message has %d events", place/2, len(events))
		}
		var curves []sweep.Curve
		for ; count > 0 && r.err == nil; count-- {
			c, err := r.curve(curves)
			if err != nil {
				return err
			}
			curves = append(curves, c)
		}
		if r.err != nil {
			return r.err
		}
		lists := curvesOf(&events[place/2])
		if place%2 >= len(lists) {
			return fmt.Errorf("samples of the result of event %d, which has none", place/2)
		}
		*lists[place%2] = curves
	}
	return r.err
}

// curve reads a curve that follows others.
func (r *sampleReader) curve(others []sweep.Curve) (c sweep.Curve, err error) {
	c.Metric = string(r.bytes(r.number()))
	c.Offset = r.number()
	points := r.number()
	steps := r.bytes(r.number())
	values := r.bytes(4 * points)
	if r.err != nil {
		return c, r.err
	}
	if c.Values, err = sweep.DecodeValues(values); err != nil {
		return c, fmt.Errorf("samples of curve %.100q: %w", c.Metric, err)
	}
	if len(steps) == 0 && points > 0 && len(others) > 0 {
		c.Steps = others[len(others)-1].Steps
	} else if c.Steps, err = sweep.DecodeSteps(steps); err != nil {
		return c, fmt.Errorf("samples of curve %.100q: %w", c.Metric, err)
	}
	if len(c.Steps) != points {
		return c, fmt.Errorf("samples of curve %.100q: %d steps but %d values", c.Metric, len(c.Steps), points)
	}
	return c, nil
}
