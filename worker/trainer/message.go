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

// decodeDescription reads a description. Its values have the types of sweep.Parameters.
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
	for i := range s.Endless {
		values = append(values, &s.Endless[i])
	}
	matches := []sweep.Match{s.AppliesWhen, s.NeutralWhen, s.MeasuresWhen}
	for i := range s.Defaults {
		values = append(values, &s.Defaults[i].Value)
		matches = append(matches, s.Defaults[i].When)
	}
	for _, match := range matches {
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

// encodeRequest writes the parameters and the script of a request as JSON. No script is no bytes.
func encodeRequest(p sweep.Parameters, s *sweep.Script) (parameters, script []byte, err error) {
	if parameters, err = p.Canonical(); err != nil {
		return nil, nil, fmt.Errorf("parameters: %w", err)
	}
	if s == nil {
		return parameters, nil, nil
	}
	if script, err = json.Marshal(s); err != nil {
		return nil, nil, fmt.Errorf("script: %w", err)
	}
	return parameters, script, nil
}

// decodeRequest reads the parameters and the script of a request. No bytes are no parameters, and
// no script.
func decodeRequest(parameters, script []byte) (p sweep.Parameters, s *sweep.Script, err error) {
	p = sweep.Parameters{}
	if len(parameters) > 0 {
		if err := p.UnmarshalJSON(parameters); err != nil {
			return nil, nil, fmt.Errorf("parameters: %w", err)
		}
	}
	if len(script) > 0 {
		if err := json.Unmarshal(script, &s); err != nil {
			return nil, nil, fmt.Errorf("script: %w", err)
		}
	}
	return p, s, nil
}

// encodeCurves wraps the slices of curves without copying them.
func encodeCurves(curves []sweep.Curve) []*trainerpb.Curve {
	messages := make([]*trainerpb.Curve, 0, len(curves))
	for _, c := range curves {
		messages = append(messages, &trainerpb.Curve{Metric: c.Metric, Steps: c.Steps, Values: c.Values})
	}
	return messages
}

// encodeThinned encodes the news of a recorder.
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

// decodeThinned decodes a curve of encodeThinned. last are the steps of the curve before.
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

// decodeCurves decodes curves, without copying the slices of messages.
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

func encodeLabels(l *sweep.RunLabels) *trainerpb.RunLabels {
	if l == nil {
		return nil
	}
	m := &trainerpb.RunLabels{Name: valid(l.Name), Group: valid(l.Group), Notes: valid(l.Notes)}
	for _, tag := range l.Tags {
		m.Tags = append(m.Tags, valid(tag))
	}
	return m
}

func decodeLabels(m *trainerpb.RunLabels) *sweep.RunLabels {
	if m == nil {
		return nil
	}
	return &sweep.RunLabels{Name: m.GetName(), Group: m.GetGroup(), Notes: m.GetNotes(), Tags: m.GetTags()}
}

func encodeInputs(in *sweep.Inputs) *trainerpb.Inputs {
	if in == nil {
		return nil
	}
	m := &trainerpb.Inputs{Unrecorded: valid(in.Unrecorded)}
	for _, row := range in.Rows {
		m.Rows = append(m.Rows,
			&trainerpb.Input{Kind: valid(row.Kind), Name: valid(row.Name), Digest: valid(row.Digest)})
	}
	return m
}

func decodeInputs(m *trainerpb.Inputs) *sweep.Inputs {
	if m == nil {
		return nil
	}
	in := &sweep.Inputs{Unrecorded: m.GetUnrecorded()}
	for _, row := range m.GetRows() {
		in.Rows = append(in.Rows, sweep.Input{Kind: row.GetKind(), Name: row.GetName(), Digest: row.GetDigest()})
	}
	return in
}

func encodeResult(r *sweep.Result) *trainerpb.Result {
	return &trainerpb.Result{
		State:         string(r.State),
		Diverged:      r.Diverged,
		Summary:       r.Summary,
		WeightsDigest: r.WeightsDigest,
		KernelLevel:   r.KernelLevel,
		Seconds:       r.Seconds,
		Error:         valid(r.Error),
		Stderr:        valid(r.Stderr),
		Digest:        r.Digest,
		Curves:        encodeCurves(r.Curves),
		Labels:        encodeLabels(r.Labels),
		Inputs:        encodeInputs(r.Inputs),
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
		State:         state,
		Diverged:      m.GetDiverged(),
		Summary:       m.GetSummary(),
		WeightsDigest: m.GetWeightsDigest(),
		KernelLevel:   m.GetKernelLevel(),
		Seconds:       m.GetSeconds(),
		Error:         m.GetError(),
		Stderr:        m.GetStderr(),
		Digest:        m.GetDigest(),
		Curves:        curves,
		Labels:        decodeLabels(m.GetLabels()),
		Inputs:        decodeInputs(m.GetInputs()),
	}, nil
}

// valid returns text that Protocol Buffers accept: an error may quote bytes of a broken file.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
