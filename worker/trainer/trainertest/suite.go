// Package trainertest holds the suite that every trainer passes, directly and
// behind the wire, and an example trainer that workers are tested with.
//
// A trainer joins with one test:
//
//	func TestTrainer(t *testing.T) {
//		trainertest.Run(t, func(*testing.T) sweep.Trainer { return New() }, trainertest.Fixture{
//			Parameters: sweep.Parameters{"epochs": 10},
//		})
//	}
package trainertest

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/worker/trainer"
)

// Fixture tells the suite what to train. Parameters need not be complete: the
// trainer's defaults fill them in.
type Fixture struct {
	DataDir string
	// Parameters are a trial of a second or less that sends points.
	Parameters sweep.Parameters
	// Long, if not nil, are a trial that takes a minute unless it is cancelled,
	// and sends points or checkpoints before.
	Long sweep.Parameters
	// Resumable, if not nil, are a trial of seconds that sends checkpoints.
	Resumable sweep.Parameters
	// Refused are trials that must be refused for a parameter, besides those that
	// the suite makes up from the schema.
	Refused []sweep.Parameters
	// OtherLevel, if not nil, opens the trainer at another kernel level. Its bits are
	// others, so neither trainer may resume from the other's checkpoints.
	OtherLevel func(t *testing.T) sweep.Trainer
}

// Run runs the suite on the trainers that open returns: as they are ("direct")
// and behind the wire ("wire"). Every subtest opens one of its own.
func Run(t *testing.T, open func(t *testing.T) sweep.Trainer, fixture Fixture) {
	t.Run("direct", func(t *testing.T) { run(t, open, fixture) })
	t.Run("wire", func(t *testing.T) {
		if other := fixture.OtherLevel; other != nil {
			fixture.OtherLevel = func(t *testing.T) sweep.Trainer { return wired(t, other(t)) }
		}
		run(t, func(t *testing.T) sweep.Trainer { return wired(t, open(t)) }, fixture)
	})
}

// wired is the trainer behind the wire.
func wired(t *testing.T, direct sweep.Trainer) sweep.Trainer {
	t.Helper()
	wired, end, err := trainer.Loopback(direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return wired
}

// suite is one trainer under test.
type suite struct {
	Fixture
	open        func(t *testing.T) sweep.Trainer
	trainer     sweep.Trainer
	description *sweep.Description
}

func run(t *testing.T, open func(t *testing.T) sweep.Trainer, fixture Fixture) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"Describe", testDescribe},
		{"Validate", testValidate},
		{"Refuse", testRefuse},
		{"Extremes", testExtremes},
		{"Repeat", testRepeat},
		{"Cancel", testCancel},
		{"SinkError", testSinkError},
		{"Resume", testResume},
		{"OtherLevel", testOtherLevel},
		{"Artifacts", testArtifacts},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &suite{Fixture: fixture, open: open, trainer: open(t)}
			var err error
			if s.description, err = s.trainer.Describe(t.Context()); err != nil {
				t.Fatalf("Describe: %v", err)
			}
			test.run(t, s)
		})
	}
}

// resolve fills the defaults in.
func (s *suite) resolve(t *testing.T, p sweep.Parameters) sweep.Parameters {
	t.Helper()
	resolved, err := s.description.Resolve(p)
	if err != nil {
		t.Fatalf("the fixture does not fit the description: %v", err)
	}
	return resolved
}

// request returns the trial of resolved parameters.
func (s *suite) request(t *testing.T, resolved sweep.Parameters) sweep.TrainRequest {
	t.Helper()
	validation, err := s.trainer.Validate(t.Context(), sweep.ValidateRequest{Parameters: resolved, DataDir: s.DataDir})
	if err != nil {
		t.Fatalf("Validate: %v", err)
	}
	fingerprint, err := s.description.Fingerprint(resolved, validation.DatasetDigest)
	if err != nil {
		t.Fatal(err)
	}
	return sweep.TrainRequest{
		Trial: sweep.Trial{
			TrialID:       sweep.TrialID{Sweep: "suite", Index: 1},
			Parameters:    resolved,
			DatasetDigest: validation.DatasetDigest,
			Fingerprint:   fingerprint,
		},
		DataDir: s.DataDir,
		Points:  sweep.DefaultPoints,
	}
}

// train trains a trial that must succeed.
func (s *suite) train(t *testing.T, tr sweep.Trainer, request sweep.TrainRequest) (*sweep.Result, *Sink) {
	t.Helper()
	sink := &Sink{}
	result, err := tr.Train(t.Context(), request, sink)
	if err != nil {
		t.Fatalf("Train: %v", err)
	}
	if err := sink.Problem(); err != nil {
		t.Errorf("Train: %v", err)
	}
	return result, sink
}

// testDescribe holds the description to its own rules.
func testDescribe(t *testing.T, s *suite) {
	d := s.description
	again, err := s.trainer.Describe(t.Context())
	if err != nil {
		t.Fatalf("Describe, again: %v", err)
	}
	if !reflect.DeepEqual(d, again) {
		t.Errorf("two descriptions differ:\n%+v\n%+v", d, again)
	}
	if d.Name == "" || d.Version == "" || d.ResultVersion == "" {
		t.Errorf("name %q, version %q and result version %q must not be empty", d.Name, d.Version, d.ResultVersion)
	}
	seen := map[string]bool{}
	for i := range d.Parameters {
		p := &d.Parameters[i]
		if p.Name == "" || seen[p.Name] {
			t.Errorf("parameter %q is not the only one of its name", p.Name)
		}
		seen[p.Name] = true
		checkParameter(t, d, p)
	}
	seen = map[string]bool{}
	for _, m := range d.Metrics {
		if m.Name == "" || seen[m.Name] {
			t.Errorf("metric %q is not the only one of its name", m.Name)
		}
		seen[m.Name] = true
		if m.Goal != "" && m.Goal != "minimize" && m.Goal != "maximize" {
			t.Errorf("metric %q: goal %q", m.Name, m.Goal)
		}
		if !m.Curve && !m.Summary {
			t.Errorf("metric %q is neither in curves nor in the summary", m.Name)
		}
		if m.Doc == "" {
			t.Errorf("metric %q has no doc", m.Name)
		}
	}
}

func checkParameter(t *testing.T, d *sweep.Description, p *sweep.ParameterSchema) {
	if p.Doc == "" {
		t.Errorf("parameter %q has no doc", p.Name)
	}
	switch p.Type {
	case sweep.IntegerType, sweep.NumberType:
		if p.Minimum != nil && p.Maximum != nil && *p.Minimum > *p.Maximum {
			t.Errorf("parameter %q: minimum %v above maximum %v", p.Name, *p.Minimum, *p.Maximum)
		}
	case sweep.BooleanType, sweep.StringType, sweep.AnyType:
		if p.Minimum != nil || p.Maximum != nil {
			t.Errorf("parameter %q: bounds of a %s", p.Name, p.Type)
		}
	default:
		t.Errorf("parameter %q: type %q", p.Name, p.Type)
	}
	if p.Name == sweep.SeedParameter && p.Type != sweep.IntegerType {
		t.Errorf("parameter %q: replicates set it to integers", p.Name)
	}
	if p.Required && (p.Default != nil || len(p.Defaults) > 0) {
		t.Errorf("parameter %q is required and has a default", p.Name)
	}
	values := slices.Clone(p.Enum)
	if p.Default != nil {
		values = append(values, p.Default)
	}
	for _, c := range p.Defaults {
		values = append(values, c.Value)
		for other, accepted := range c.When {
			schema := d.Parameter(other)
			if schema == nil {
				t.Errorf("parameter %q: a default depends on %q, which there is not", p.Name, other)
				continue
			}
			for _, value := range accepted {
				if _, err := schema.Coerce(value); err != nil {
					t.Errorf("parameter %q: the condition of a default: %v", p.Name, err)
				}
			}
		}
	}
	for _, value := range values {
		if _, err := p.Coerce(value); err != nil {
			t.Errorf("parameter %q: its own default or choice: %v", p.Name, err)
		}
	}
}

// testValidate: the fixture is accepted, always with the same answer, whatever
// form its numbers have.
func testValidate(t *testing.T, s *suite) {
	resolved := s.resolve(t, s.Parameters)
	canonical, err := resolved.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	var stored sweep.Parameters
	if err := stored.UnmarshalJSON(canonical); err != nil {
		t.Fatal(err)
	}
	var first *sweep.Validation
	for _, p := range []sweep.Parameters{resolved, stored} {
		v, err := s.trainer.Validate(t.Context(), sweep.ValidateRequest{Parameters: p, DataDir: s.DataDir})
		if err != nil {
			t.Fatalf("Validate: %v", err)
		}
		if v.Flops < 0 || v.Bytes < 0 || v.ParameterCount < 0 || math.IsNaN(v.Flops) {
			t.Errorf("Validate: a negative estimate: %+v", v)
		}
		if first == nil {
			first = v
		} else if *v != *first {
			t.Errorf("two validations differ: %+v, %+v", first, v)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = s.trainer.Validate(ended, sweep.ValidateRequest{Parameters: resolved, DataDir: s.DataDir})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Validate with a context that has ended: %v", err)
	}
}

// testArtifacts: a trainer hands over what it says it can when that is asked for,
// the same bytes each time, and nothing else.
func testArtifacts(t *testing.T, s *suite) {
	if len(s.description.Artifacts) == 0 {
		return
	}
	request := s.request(t, s.resolve(t, s.Parameters))
	var names []string
	for _, a := range s.description.Artifacts {
		if err := sweep.CheckArtifactName(a.Name); err != nil || a.Doc == "" || slices.Contains(names, a.Name) {
			t.Errorf("artifact %+v: %v", a, err)
		}
		names = append(names, a.Name)
	}
	plain, _ := s.train(t, s.trainer, request)
	request.Artifacts = names
	var first map[string]Artifact
	for range 2 {
		result, sink := s.train(t, s.trainer, request)
		if got, want := result.WeightsDigest, plain.WeightsDigest; got != want {
			t.Errorf("to hand artifacts over changes the weights: %s, %s", got, want)
		}
		all := sink.Artifacts()
		for _, name := range names {
			if a, ok := all[name]; !ok || len(a.Content) == 0 {
				t.Errorf("artifact %q was not handed over", name)
			}
		}
		if first == nil {
			first = all
		}
		for name, a := range all {
			if !slices.Contains(names, name) {
				t.Errorf("artifact %q is not described", name)
			}
			if !slices.Equal(a.Content, first[name].Content) {
				t.Errorf("artifact %q differs from one time to the other", name)
			}
			if i := slices.Index(names, name); i >= 0 && a.MediaType != s.description.Artifacts[i].MediaType {
				t.Errorf("artifact %q: media type %q, described as %q", name, a.MediaType,
					s.description.Artifacts[i].MediaType)
			}
		}
	}
}

// refusals returns trials that the schema refuses, each with the parameter that
// the error must name; empty if it is open which.
func (s *suite) refusals(t *testing.T) []struct {
	parameters sweep.Parameters
	name       string
} {
	var trials []struct {
		parameters sweep.Parameters
		name       string
	}
	resolved := s.resolve(t, s.Parameters)
	try := func(name string, value any) {
		p := resolved.Clone()
		p[name] = value
		trials = append(trials, struct {
			parameters sweep.Parameters
			name       string
		}{p, name})
	}
	try("no_such_parameter", int64(1))
	for _, p := range s.description.Parameters {
		switch p.Type {
		case sweep.BooleanType:
			try(p.Name, "perhaps")
			try(p.Name, int64(7))
		case sweep.IntegerType, sweep.NumberType:
			try(p.Name, "many")
			try(p.Name, true)
			try(p.Name, []any{int64(1)})
			if p.Type == sweep.IntegerType {
				try(p.Name, 1.5)
			}
			if p.Minimum != nil {
				try(p.Name, *p.Minimum-1)
				if p.ExclusiveMinimum {
					try(p.Name, *p.Minimum)
				}
			}
			if p.Maximum != nil {
				try(p.Name, *p.Maximum+max(1, math.Abs(*p.Maximum)))
			}
		case sweep.StringType:
			try(p.Name, int64(3))
			try(p.Name, map[string]any{"a": nil})
			if len(p.Enum) > 0 {
				try(p.Name, "no such choice")
			}
		}
		if p.Required {
			lacking := resolved.Clone()
			delete(lacking, p.Name)
			trials = append(trials, struct {
				parameters sweep.Parameters
				name       string
			}{lacking, p.Name})
		}
	}
	for _, p := range s.Refused {
		trials = append(trials, struct {
			parameters sweep.Parameters
			name       string
		}{p, ""})
	}
	return trials
}

// testRefuse: whatever does not fit the schema is a *ParameterError that names
// the parameter, from Validate and from Train alike.
func testRefuse(t *testing.T, s *suite) {
	for _, trial := range s.refusals(t) {
		check := func(method string, err error) {
			t.Helper()
			var refused *sweep.ParameterError
			if !errors.As(err, &refused) {
				t.Errorf("%s of %s = %v: %v, want a *sweep.ParameterError", method, trial.name,
					trial.parameters[trial.name], err)
				return
			}
			if trial.name != "" && refused.Parameter != trial.name {
				t.Errorf("%s of %s = %v refuses %s", method, trial.name, trial.parameters[trial.name],
					refused.Parameter)
			}
			if refused.Problem == "" {
				t.Errorf("%s of %s: no problem given", method, trial.name)
			}
		}
		_, err := s.trainer.Validate(t.Context(), sweep.ValidateRequest{Parameters: trial.parameters,
			DataDir: s.DataDir})
		check("Validate", err)
		sink := &Sink{}
		_, err = s.trainer.Train(t.Context(), sweep.TrainRequest{
			Trial: sweep.Trial{Parameters: trial.parameters}, DataDir: s.DataDir, Points: sweep.DefaultPoints,
		}, sink)
		check("Train", err)
		if len(sink.Curves()) > 0 {
			t.Errorf("points of a refused trial (%s)", trial.name)
		}
	}
}

// testExtremes: values at the edge of their types are accepted or refused, but
// for the trial's own reasons and without a panic.
func testExtremes(t *testing.T, s *suite) {
	resolved := s.resolve(t, s.Parameters)
	for _, p := range s.description.Parameters {
		var values []any
		switch p.Type {
		case sweep.IntegerType:
			values = []any{int64(math.MaxInt64), int64(math.MinInt64), int64(0), int64(-1)}
		case sweep.NumberType:
			values = []any{math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1)}
		case sweep.StringType:
			values = []any{"", "\x00", "../../etc/passwd", strings.Repeat("x", 1<<16), "\u202e"}
		case sweep.AnyType:
			values = []any{nil, "", []any{}, map[string]any{}}
		}
		if p.Minimum != nil {
			values = append(values, *p.Minimum)
		}
		if p.Maximum != nil {
			values = append(values, *p.Maximum)
		}
		for _, value := range values {
			trial := resolved.Clone()
			trial[p.Name] = value
			validation, err := s.trainer.Validate(t.Context(),
				sweep.ValidateRequest{Parameters: trial, DataDir: s.DataDir})
			var parameter *sweep.ParameterError
			var data *sweep.DataError
			switch {
			case err == nil && validation == nil:
				t.Errorf("Validate of %s = %.40v: neither answer nor error", p.Name, value)
			case err != nil && !errors.As(err, &parameter) && !errors.As(err, &data):
				t.Errorf("Validate of %s = %.40v: %v, want a *sweep.ParameterError or a *sweep.DataError",
					p.Name, value, err)
			}
		}
	}
}

// testRepeat: the same trial gives the same bits, on a trainer that has trained
// before and on a fresh one; everything in it was described.
func testRepeat(t *testing.T, s *suite) {
	request := s.request(t, s.resolve(t, s.Parameters))
	first, sink := s.train(t, s.trainer, request)
	s.checkResult(t, first, sink)

	// Numbers as a store gives them back.
	stored := request
	canonical, err := request.Parameters.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	stored.Parameters = nil
	if err := stored.Parameters.UnmarshalJSON(canonical); err != nil {
		t.Fatal(err)
	}
	want := sink.Digest(first, s.description.Volatile())
	second, sink := s.train(t, s.trainer, stored)
	if got := sink.Digest(second, s.description.Volatile()); got != want {
		t.Errorf("the second run of a trial differs from the first:\n%+v\n%+v", first, second)
	}
	third, sink := s.train(t, s.open(t), request)
	if got := sink.Digest(third, s.description.Volatile()); got != want {
		t.Errorf("the run of a trial on a fresh trainer differs from the first:\n%+v\n%+v", first, third)
	}
}

func (s *suite) checkResult(t *testing.T, result *sweep.Result, sink *Sink) {
	t.Helper()
	if result.State != sweep.Completed {
		t.Errorf("state %q, want %q", result.State, sweep.Completed)
	}
	for name, value := range result.Summary {
		if m := s.description.Metric(name); m == nil || !m.Summary {
			t.Errorf("summary metric %q was not described as one", name)
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			t.Errorf("summary metric %q is %v: it must be absent", name, value)
		}
	}
	if announced := s.description.KernelLevel; result.KernelLevel != announced {
		t.Errorf("the result is of kernel level %q, but the trainer announces %q: its checkpoints would go to "+
			"trainers of other bits", result.KernelLevel, announced)
	}
	curves := append(sink.Curves(), result.Curves...)
	if len(curves) == 0 {
		t.Error("no points")
	}
	for _, c := range curves {
		if m := s.description.Metric(c.Metric); m == nil || !m.Curve {
			t.Errorf("curve %q was not described as one", c.Metric)
		}
	}
}

// announcing is a sink that tells of the first event.
type announcing struct {
	Sink
	first chan struct{}
}

func (a *announcing) tell() {
	select {
	case a.first <- struct{}{}:
	default:
	}
}

func (a *announcing) Points(batch []sweep.Curve) error {
	a.tell()
	return a.Sink.Points(batch)
}

func (a *announcing) Checkpoint(step int64, state []byte) error {
	a.tell()
	return a.Sink.Checkpoint(step, state)
}

// testCancel: a trial ends soon after its context, with the context's error, and
// the trainer goes on with others.
func testCancel(t *testing.T, s *suite) {
	ended, end := context.WithCancel(t.Context())
	end()
	short := s.request(t, s.resolve(t, s.Parameters))
	if _, err := s.trainer.Train(ended, short, &Sink{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Train with a context that has ended: %v, want %v", err, context.Canceled)
	}
	if s.Long == nil {
		return
	}
	request := s.request(t, s.resolve(t, s.Long))
	for _, test := range []struct {
		name string
		end  func(parent context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{"cancelled", context.WithCancel, context.Canceled},
		{"timed out", func(parent context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(parent, 500*time.Millisecond)
		}, context.DeadlineExceeded},
	} {
		ctx, cancel := test.end(t.Context())
		defer cancel()
		sink := &announcing{first: make(chan struct{}, 1)}
		done := make(chan error, 1)
		go func() {
			_, err := s.trainer.Train(ctx, request, sink)
			done <- err
		}()
		select {
		case <-sink.first:
		case <-ctx.Done():
		case err := <-done:
			t.Fatalf("the long trial ended before its first point: %v", err)
		case <-time.After(sweeptest.Patience):
			sweeptest.Fail(t, "the long trial's first point")
		}
		if errors.Is(test.want, context.Canceled) {
			cancel()
		}
		<-ctx.Done()
		start := time.Now()
		if err := sweeptest.Receive(t, "the end of Train after "+test.name, done); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		t.Logf("%s: Train returned after %v", test.name, time.Since(start))
		s.train(t, s.trainer, short)
	}
}

// testSinkError: an error of the sink ends the trial and comes back.
func testSinkError(t *testing.T, s *suite) {
	short := s.request(t, s.resolve(t, s.Parameters))
	parameters := s.Long
	if parameters == nil {
		parameters = s.Parameters
	}
	request := s.request(t, s.resolve(t, parameters))
	full := errors.New("the sink is full")
	done := make(chan error, 1)
	go func() {
		_, err := s.trainer.Train(t.Context(), request, &Sink{Fail: full})
		done <- err
	}()
	if err := sweeptest.Receive(t, "the end of Train after an error of its sink", done); !errors.Is(err, full) {
		t.Errorf("Train: %v, want the sink's error", err)
	}
	s.train(t, s.trainer, short)
}

// testResume: from each checkpoint a fresh trainer reaches the same result, and
// says the points before it again.
func testResume(t *testing.T, s *suite) {
	request := s.request(t, s.resolve(t, s.Parameters))
	if s.Resumable != nil {
		request = s.request(t, s.resolve(t, s.Resumable))
	}
	whole, sink := s.train(t, s.trainer, request)
	checkpoints := sink.Checkpoints()
	if len(checkpoints) == 0 {
		if s.Resumable != nil {
			t.Error("the resumable trial sends no checkpoint")
		}
		return
	}
	want := sink.Digest(whole, s.description.Volatile())
	for i, c := range checkpoints {
		if i > 0 && c.Step <= checkpoints[i-1].Step {
			t.Errorf("the checkpoint of step %d comes after that of step %d", c.Step, checkpoints[i-1].Step)
		}
		if i > 2 && i < len(checkpoints)-2 {
			continue // the first and last ones will do
		}
		request.Checkpoint = c.State
		resumed, sink := s.train(t, s.open(t), request)
		if got := sink.Digest(resumed, s.description.Volatile()); got != want {
			t.Errorf("resumed from step %d, the trial differs:\n%+v\n%+v", c.Step, whole, resumed)
		}
	}
	state := checkpoints[len(checkpoints)-1].State
	for name, broken := range map[string][]byte{
		"garbage":   []byte("not a checkpoint"),
		"truncated": state[:len(state)/2],
	} {
		request.Checkpoint = broken
		if _, err := s.trainer.Train(t.Context(), request, &Sink{}); err == nil {
			t.Errorf("Train resumes from a %s checkpoint", name)
		}
	}
}

// testOtherLevel: a trainer at another kernel level announces it, refuses the
// checkpoints of this one, and trains the trial from its beginning.
func testOtherLevel(t *testing.T, s *suite) {
	if s.OtherLevel == nil {
		return
	}
	request := s.request(t, s.resolve(t, s.Parameters))
	if s.Resumable != nil {
		request = s.request(t, s.resolve(t, s.Resumable))
	}
	_, sink := s.train(t, s.trainer, request)
	checkpoints := sink.Checkpoints()
	if len(checkpoints) == 0 {
		t.Fatal("the trial sends no checkpoint")
	}
	other := s.OtherLevel(t)
	d, err := other.Describe(t.Context())
	if err != nil {
		t.Fatalf("Describe at the other level: %v", err)
	}
	if d.KernelLevel == "" || d.KernelLevel == s.description.KernelLevel {
		t.Errorf("the trainers announce the kernel levels %q and %q, want two different ones",
			s.description.KernelLevel, d.KernelLevel)
	}
	request.Checkpoint = checkpoints[len(checkpoints)-1].State
	result, err := other.Train(t.Context(), request, &Sink{})
	if err == nil {
		t.Fatalf("kernel level %q resumes from a checkpoint of %q: its weights are of neither", result.KernelLevel,
			s.description.KernelLevel)
	}
	var refused *sweep.ParameterError
	if errors.As(err, &refused) || errors.Is(err, sweep.ErrDatasetChanged) {
		t.Errorf("Train from a checkpoint of another level: %v, which blames the trial and not the checkpoint", err)
	}
	request.Checkpoint = nil
	if again, _ := s.train(t, other, request); again.KernelLevel != d.KernelLevel {
		t.Errorf("a result of kernel level %q from a trainer that announces %q", again.KernelLevel, d.KernelLevel)
	}
}
