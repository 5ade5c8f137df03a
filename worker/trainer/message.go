package trainer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// encodeDescription writes a description as JSON.
func encodeDescription(d *sweep.Description) ([]byte, error) { return json.Marshal(d) }

// decodeDescription reads a description; its values come out in the types that
// sweep.Parameters hold, whatever JSON makes of numbers.
func decodeDescription(data []byte) (*sweep.Description, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	d := &sweep.Description{}
	if err := decoder.Decode(d); err != nil {
		return nil, fmt.Errorf("description: %w", err)
	}
	for i := range d.Parameters {
		if err := normalizeSchema(&d.Parameters[i]); err != nil {
			return nil, fmt.Errorf("description: parameter %q: %w", d.Parameters[i].Name, err)
		}
	}
	if err := d.Check(); err != nil {
		return nil, fmt.Errorf("description: %w", err)
	}
	return d, nil
}

func normalizeSchema(s *sweep.ParameterSchema) error {
	values := []*any{&s.Default, &s.Neutral}
	for i := range s.Enum {
		values = append(values, &s.Enum[i])
	}
	for i := range s.Defaults {
		values = append(values, &s.Defaults[i].Value)
		for _, accepted := range s.Defaults[i].When {
			for k := range accepted {
				values = append(values, &accepted[k])
			}
		}
	}
	for _, match := range []sweep.Match{s.AppliesWhen, s.MeasuresWhen} {
		for _, accepted := range match {
			for k := range accepted {
				values = append(values, &accepted[k])
			}
		}
	}
	for _, value := range values {
		normal, err := sweep.Normalize(*value)
		if err != nil {
			return err
		}
		*value = normal
	}
	return nil
}

// decodeParameters reads a trial's parameters; no bytes are no parameters.
func decodeParameters(data []byte) (sweep.Parameters, error) {
	parameters := sweep.Parameters{}
	if len(data) == 0 {
		return parameters, nil
	}
	if err := parameters.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	return parameters, nil
}

// encodeScript writes a sweep's program as JSON; none is no bytes.
func encodeScript(s *sweep.Script) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return data, nil
}

func decodeScript(data []byte) (*sweep.Script, error) {
	if len(data) == 0 {
		return nil, nil
	}
	s := &sweep.Script{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return s, nil
}

// encodeCurves wraps the slices of curves without copying them.
func encodeCurves(curves []sweep.Curve) []*trainerpb.Curve {
	if len(curves) == 0 {
		return nil
	}
	messages := make([]*trainerpb.Curve, len(curves))
	for i, c := range curves {
		messages[i] = &trainerpb.Curve{Metric: c.Metric, Steps: c.Steps, Values: c.Values}
	}
	return messages
}

// encodeThinned writes what a recorder has news of.
func encodeThinned(news []sweep.Curve) []*trainerpb.Curve {
	var messages []*trainerpb.Curve
	var last []int64
	for _, c := range news {
		if len(c.Steps) == 0 {
			continue
		}
		m := &trainerpb.Curve{Metric: c.Metric, Thinned: true, Offset: int64(c.Offset),
			PackedValues: sweep.EncodeValues(c.Values)}
		if !slices.Equal(c.Steps, last) {
			m.PackedSteps, last = sweep.EncodeSteps(c.Steps), c.Steps
		}
		messages = append(messages, m)
	}
	return messages
}

// decodeThinned reads a curve of what encodeThinned wrote, last being the steps of the
// one before.
func decodeThinned(m *trainerpb.Curve, last []int64) (c sweep.Curve, err error) {
	c = sweep.Curve{Metric: m.GetMetric(), Offset: int(m.GetOffset()), Steps: last, Replaces: true}
	if c.Values, err = sweep.DecodeValues(m.GetPackedValues()); err != nil {
		return c, fmt.Errorf("curve %q: %w", c.Metric, err)
	}
	if len(m.GetPackedSteps()) > 0 {
		if c.Steps, err = sweep.DecodeSteps(m.GetPackedSteps()); err != nil {
			return c, fmt.Errorf("curve %q: %w", c.Metric, err)
		}
	}
	if len(c.Steps) != len(c.Values) {
		return c, fmt.Errorf("curve %q: %d steps but %d values", c.Metric, len(c.Steps), len(c.Values))
	}
	if c.Offset < 0 {
		return c, fmt.Errorf("curve %q: the offset %d", c.Metric, c.Offset)
	}
	return c, nil
}

// decodeCurves takes over the slices of messages.
func decodeCurves(messages []*trainerpb.Curve) ([]sweep.Curve, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	curves := make([]sweep.Curve, len(messages))
	var last []int64
	for i, m := range messages {
		if m.GetThinned() {
			var err error
			if curves[i], err = decodeThinned(m, last); err != nil {
				return nil, err
			}
			last = curves[i].Steps
			continue
		}
		if len(m.GetSteps()) != len(m.GetValues()) {
			return nil, fmt.Errorf("curve %q: %d steps but %d values", m.GetMetric(), len(m.GetSteps()),
				len(m.GetValues()))
		}
		curves[i] = sweep.Curve{Metric: m.GetMetric(), Steps: m.GetSteps(), Values: m.GetValues()}
	}
	return curves, nil
}

func encodeResult(r *sweep.Result) *trainerpb.Result {
	return &trainerpb.Result{
		State:          string(r.State),
		Diverged:       r.Diverged,
		Summary:        r.Summary,
		BestEpoch:      r.BestEpoch,
		ParameterCount: r.ParameterCount,
		WeightsDigest:  r.WeightsDigest,
		KernelLevel:    r.KernelLevel,
		Seconds:        r.Seconds,
		Flops:          r.Flops,
		Error:          valid(r.Error),
		Stderr:         valid(r.Stderr),
		Digest:         r.Digest,
		Curves:         encodeCurves(r.Curves),
	}
}

func decodeResult(m *trainerpb.Result) (*sweep.Result, error) {
	curves, err := decodeCurves(m.GetCurves())
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	state := sweep.State(m.GetState())
	if !state.Terminal() {
		return nil, fmt.Errorf("result: state %q is none of %q, %q, %q", state, sweep.Completed, sweep.Failed,
			sweep.Cancelled)
	}
	return &sweep.Result{
		State:          state,
		Diverged:       m.GetDiverged(),
		Summary:        m.GetSummary(),
		BestEpoch:      m.GetBestEpoch(),
		ParameterCount: m.GetParameterCount(),
		WeightsDigest:  m.GetWeightsDigest(),
		KernelLevel:    m.GetKernelLevel(),
		Seconds:        m.GetSeconds(),
		Flops:          m.GetFlops(),
		Error:          m.GetError(),
		Stderr:         m.GetStderr(),
		Digest:         m.GetDigest(),
		Curves:         curves,
	}, nil
}

// valid returns text as Protocol Buffers accept it: an error may quote bytes of
// a broken file.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
