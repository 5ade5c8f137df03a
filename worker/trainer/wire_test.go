package trainer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/worker/trainer"
	"sweep/worker/trainer/noop"
	"sweep/worker/trainer/trainertest"
)

// stub is a trainer of functions; those that are nil give nothing.
type stub struct {
	describe func() (*sweep.Description, error)
	validate func(sweep.ValidateRequest) (*sweep.Validation, error)
	train    func(context.Context, sweep.TrainRequest, sweep.Sink) (*sweep.Result, error)
}

func (s *stub) Describe(context.Context) (*sweep.Description, error) {
	if s.describe == nil {
		return nil, nil
	}
	return s.describe()
}

func (s *stub) Validate(_ context.Context, r sweep.ValidateRequest) (*sweep.Validation, error) {
	if s.validate == nil {
		return nil, nil
	}
	return s.validate(r)
}

func (s *stub) Train(ctx context.Context, r sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	if s.train == nil {
		return nil, nil
	}
	return s.train(ctx, r, sink)
}

// echo is a Train that sends its checkpoint back.
func echo(_ context.Context, r sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	if err := sink.Checkpoint(1, r.Checkpoint); err != nil {
		return nil, err
	}
	return &sweep.Result{State: sweep.Completed}, nil
}

func loopback(t *testing.T, s sweep.Trainer) sweep.Trainer {
	t.Helper()
	wired, end, err := trainer.Loopback(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return wired
}

// Errors of a trial arrive with their text, for errors.As and errors.Is.
func TestErrorsOverTheWire(t *testing.T) {
	parameter := &sweep.ParameterError{Parameter: "epochs", Value: int64(0),
		Problem: "must be an integer of at least 1", Nearest: "epoch"}
	data := &sweep.DataError{Dataset: "CBF", Err: errors.New("CBF_TRAIN.tsv, row 3: not a number")}
	missing := &sweep.DataError{Dataset: "CBF", Err: fmt.Errorf("no file CBF_TRAIN.tsv: %w", sweep.ErrNotFound)}
	for _, test := range []struct {
		name      string
		err       error
		text      string // if it is not err's own
		parameter *sweep.ParameterError
		data      bool
		is        []error
		isNot     []error
	}{
		{name: "parameter", err: parameter, parameter: parameter,
			isNot: []error{sweep.ErrNotFound, sweep.ErrDatasetChanged}},
		{name: "wrapped parameter", err: fmt.Errorf("trial 7: %w", parameter), parameter: parameter},
		{name: "parameter without value", err: &sweep.ParameterError{Parameter: "lr", Problem: "is required"},
			parameter: &sweep.ParameterError{Parameter: "lr", Problem: "is required"}},
		{name: "list value", err: &sweep.ParameterError{Parameter: "lr", Value: []any{int64(1), 2.5, "x"},
			Problem: "no list"},
			parameter: &sweep.ParameterError{Parameter: "lr", Value: []any{int64(1), 2.5, "x"}, Problem: "no list"}},
		{name: "value without JSON", err: &sweep.ParameterError{Parameter: "lr", Value: math.NaN(),
			Problem: "must be finite"},
			parameter: &sweep.ParameterError{Parameter: "lr", Value: "NaN", Problem: "must be finite"}},
		{name: "data", err: data, data: true, isNot: []error{sweep.ErrNotFound}},
		{name: "missing data", err: missing, data: true, is: []error{sweep.ErrNotFound}},
		{name: "wrapped data", err: fmt.Errorf("split: %w", missing), data: true, is: []error{sweep.ErrNotFound}},
		{name: "changed", err: sweep.ErrDatasetChanged, is: []error{sweep.ErrDatasetChanged}},
		{name: "wrapped changed", err: fmt.Errorf("CBF: %w", sweep.ErrDatasetChanged),
			is: []error{sweep.ErrDatasetChanged}},
		{name: "changed data", err: &sweep.DataError{Dataset: "CBF", Err: sweep.ErrDatasetChanged}, data: true,
			is: []error{sweep.ErrDatasetChanged}},
		{name: "both", err: errors.Join(parameter, data), parameter: parameter, data: true},
		{name: "no text of UTF-8", err: &sweep.DataError{Dataset: "a\xffb", Err: errors.New("row \xfe")}, data: true,
			text: "data set a\uFFFDb: row \uFFFD"},
		{name: "machine", err: errors.New("no space left"), isNot: []error{sweep.ErrNotFound, sweep.ErrDatasetChanged}},
		{name: "machine, not UTF-8", err: errors.New("no space \xff"), text: "no space \uFFFD"},
		{name: "empty", err: errors.New("")},
	} {
		t.Run(test.name, func(t *testing.T) {
			wired := loopback(t, &stub{
				validate: func(sweep.ValidateRequest) (*sweep.Validation, error) { return nil, test.err },
				train: func(context.Context, sweep.TrainRequest, sweep.Sink) (*sweep.Result, error) {
					return nil, test.err
				},
			})
			_, validateErr := wired.Validate(t.Context(), sweep.ValidateRequest{})
			_, trainErr := wired.Train(t.Context(), trial(nil), &trainertest.Sink{})
			for method, err := range map[string]error{"Validate": validateErr, "Train": trainErr} {
				if err == nil {
					t.Fatalf("%s: no error", method)
				}
				text := test.text
				if text == "" {
					text = test.err.Error()
				}
				if err.Error() != text {
					t.Errorf("%s: text %q, want %q", method, err, text)
				}
				var p *sweep.ParameterError
				if errors.As(err, &p) != (test.parameter != nil) || p != nil && !reflect.DeepEqual(p, test.parameter) {
					t.Errorf("%s: parameter error %+v, want %+v", method, p, test.parameter)
				}
				var d *sweep.DataError
				if errors.As(err, &d) != test.data {
					t.Errorf("%s: data error %v, want one: %v", method, d, test.data)
				}
				for _, target := range test.is {
					if !errors.Is(err, target) {
						t.Errorf("%s: %v is not %v", method, err, target)
					}
					if d != nil && !errors.Is(d, target) {
						t.Errorf("%s: the data error %v is not %v", method, d, target)
					}
				}
				for _, target := range test.isNot {
					if errors.Is(err, target) {
						t.Errorf("%s: %v is %v", method, err, target)
					}
				}
			}
		})
	}
}

// Every field of requests and answers arrives.
func TestFieldsOverTheWire(t *testing.T) {
	request := sweep.TrainRequest{
		Trial: sweep.Trial{
			TrialID: sweep.TrialID{Sweep: "01J", Index: 1 << 40},
			Parameters: sweep.Parameters{
				"b": true, "i": int64(-1 << 62), "f": 0.1, "s": "é\u2028", "n": nil,
				"l": []any{int64(1), "x"}, "m": map[string]any{"k": 1e-300},
			},
			Fingerprint:   "f00d",
			DatasetDigest: "d1e5",
		},
		DataDir:    "/data",
		Points:     17,
		Thinned:    true,
		Checkpoint: []byte{0, 1, 255},
		Script: &sweep.Script{
			Program: "train.py", Command: []string{"${program}", "${args}"}, Files: []string{"a"}, Directory: "/d",
			Project: "p", Entity: "e",
			Metric: "loss", Parameters: []sweep.ScriptParameter{{Name: "a.b", Path: []string{"a", "b"}, Float: true,
				Written: map[string]string{"1": "1.0"}}},
		},
	}
	result := &sweep.Result{
		State: sweep.Failed, Diverged: true, Summary: map[string]float64{"loss": 0.1, "flops": 1e18},
		WeightsDigest: "ab", KernelLevel: "avx512", Seconds: 0.5,
		Error: "why", Stderr: "tail", Digest: "cd",
		Labels: &sweep.RunLabels{Name: "run", Group: "folds", Notes: "naïve", Tags: []string{"a", "b"}},
		Inputs: &sweep.Inputs{Rows: []sweep.Input{{Kind: sweep.FileInput, Name: "naïve.py", Digest: "d"}},
			Unrecorded: "what it starts"},
		Curves: []sweep.Curve{{Metric: "loss", Steps: []int64{1, 5}, Values: []float32{0.5, float32(math.Inf(1))}}},
	}
	validation := &sweep.Validation{DatasetDigest: "d1e5", ParameterCount: 9, Flops: 1.5, Bytes: 1 << 40}
	var gotTrain sweep.TrainRequest
	var gotValidate sweep.ValidateRequest
	wired := loopback(t, &stub{
		validate: func(r sweep.ValidateRequest) (*sweep.Validation, error) {
			gotValidate = r
			return validation, nil
		},
		train: func(_ context.Context, r sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
			gotTrain = r
			return result, nil
		},
	})
	gotResult, err := wired.Train(t.Context(), request, &trainertest.Sink{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(gotTrain, request) {
		t.Errorf("request\n%+v, want\n%+v", gotTrain, request)
	}
	if !reflect.DeepEqual(gotResult, result) {
		t.Errorf("result\n%+v, want\n%+v", gotResult, result)
	}
	gotValidation, err := wired.Validate(t.Context(), sweep.ValidateRequest{Parameters: request.Parameters,
		DataDir: "/data", Script: request.Script})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(gotValidate, sweep.ValidateRequest{Parameters: request.Parameters, DataDir: "/data",
		Script: request.Script}) {
		t.Errorf("validate request %+v", gotValidate)
	}
	if !reflect.DeepEqual(gotValidation, validation) {
		t.Errorf("validation %+v, want %+v", gotValidation, validation)
	}
}

// A description arrives with the types of its values.
func TestDescriptionOverTheWire(t *testing.T) {
	least := 1.0
	want := &sweep.Description{
		Name: "d", Version: "1", ResultVersion: "2",
		Parameters: []sweep.ParameterSchema{
			{Name: "n", Type: sweep.IntegerType, Doc: "an integer", Default: int64(3), Minimum: &least,
				Enum: []any{int64(3), int64(4)}},
			{Name: "x", Type: sweep.NumberType, Doc: "a number", Defaults: []sweep.ConditionalDefault{
				{When: sweep.Match{"n": {int64(3)}}, Value: 0.5}, {When: sweep.Match{"n": {int64(4)}}, Value: int64(1)},
			}, AppliesWhen: sweep.Match{"n": {int64(3), int64(4)}}, Neutral: 0.5,
				NeutralWhen: sweep.Match{"n": {int64(4)}}, Measures: true,
				MeasuresWhen: sweep.Match{"n": {int64(3)}}},
			{Name: "a", Type: sweep.AnyType, Doc: "anything", Default: map[string]any{"k": []any{int64(1), 0.25, nil}}},
		},
		Metrics: []sweep.MetricSchema{{Name: "loss", Doc: "loss", Goal: "minimize", Unit: "nats", Curve: true,
			AbsentWhen: sweep.Match{"n": {int64(3), 0.5}}}},
	}
	wired := loopback(t, &stub{describe: func() (*sweep.Description, error) { return want, nil }})
	got, err := wired.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n%#v, want\n%#v", got, want)
	}
}

// A description that contradicts itself is an error.
func TestBadDescription(t *testing.T) {
	wired := loopback(t, &stub{describe: func() (*sweep.Description, error) {
		return &sweep.Description{Name: "d",
			Parameters: []sweep.ParameterSchema{{Name: "a", AppliesWhen: sweep.Match{"b": {1}}}, {Name: "b"}}}, nil
	}})
	if _, err := wired.Describe(t.Context()); err == nil {
		t.Error("no error")
	}
}

// A trainer that answers nil is at fault and does not take the worker with it.
func TestNilAnswers(t *testing.T) {
	wired := loopback(t, &stub{})
	if _, err := wired.Describe(t.Context()); err == nil {
		t.Error("Describe: no error")
	}
	if _, err := wired.Validate(t.Context(), sweep.ValidateRequest{}); err == nil {
		t.Error("Validate: no error")
	}
	if _, err := wired.Train(t.Context(), trial(nil), &trainertest.Sink{}); err == nil {
		t.Error("Train: no error")
	}
}

// Points arrive complete, up to the limit, and in order, whatever the batches; the trainer
// may use its slices again at once.
func TestPointsOverTheWire(t *testing.T) {
	const epochs = 5000
	train := func(_ context.Context, _ sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
		steps, values := make([]int64, 1), make([]float32, 1)
		for i := range int64(epochs) {
			for k, metric := range []string{"loss", "accuracy", "rare"} {
				if metric == "rare" && i%100 != 0 {
					continue
				}
				steps[0], values[0] = i+1, float32(i)+float32(k)/4
				if err := sink.Points([]sweep.Curve{{Metric: metric, Steps: steps, Values: values}}); err != nil {
					return nil, err
				}
			}
			if i%1000 == 999 {
				if err := sink.Checkpoint(i+1, []byte{byte(i)}); err != nil {
					return nil, err
				}
			}
		}
		return &sweep.Result{State: sweep.Completed}, nil
	}
	direct, wired := &trainertest.Sink{}, &trainertest.Sink{}
	request := trial(nil)
	request.Points = epochs
	if _, err := train(t.Context(), request, direct); err != nil {
		t.Fatal(err)
	}
	if _, err := loopback(t, &stub{train: train}).Train(t.Context(), request, wired); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(wired.Curves(), direct.Curves()) {
		t.Error("the curves differ from those of a direct call")
	}
	if !reflect.DeepEqual(wired.Checkpoints(), direct.Checkpoints()) {
		t.Error("the checkpoints differ from those of a direct call")
	}
	if err := wired.Problem(); err != nil {
		t.Error(err)
	}
}

// A short trial is one batch; one that takes long reports as it goes.
func TestPointsAreBatched(t *testing.T) {
	sink := &batches{}
	next := make(chan struct{})
	begin := time.Now()
	wired := loopback(t, &stub{train: func(ctx context.Context, _ sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		for i := range int64(1000) {
			if err := sink.Points([]sweep.Curve{{Metric: "loss", Steps: []int64{i}, Values: []float32{0}}}); err != nil {
				return nil, err
			}
		}
		return &sweep.Result{State: sweep.Completed}, nil
	}})
	if _, err := wired.Train(t.Context(), trial(nil), sink); err != nil {
		t.Fatal(err)
	}
	most := 1 + int(time.Since(begin)/(200*time.Millisecond)) // one each interval
	if sink.calls > most || sink.points != 1000 {
		t.Errorf("%d points in %d batches, want 1000 in at most %d", sink.points, sink.calls, most)
	}

	sink = &batches{arrived: next}
	begin = time.Now()
	wired = loopback(t, &stub{train: func(ctx context.Context, _ sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		for i := int64(1); ; i++ {
			if err := sink.Points([]sweep.Curve{{Metric: "loss", Steps: []int64{i}, Values: []float32{0}}}); err != nil {
				return nil, err
			}
			select {
			case <-next:
				return &sweep.Result{State: sweep.Completed}, nil
			case <-time.After(5 * time.Millisecond):
			}
			if time.Since(begin) > patience {
				return nil, fmt.Errorf("none of %d points has arrived within %v", i, patience)
			}
		}
	}})
	if _, err := wired.Train(t.Context(), trial(nil), sink); err != nil {
		t.Fatal(err)
	}
}

// batches counts calls and closes arrived at the first.
type batches struct {
	counter
	calls   int
	arrived chan struct{}
}

func (b *batches) Points(batch []sweep.Curve) error {
	b.calls++
	if b.arrived != nil && b.calls == 1 {
		close(b.arrived)
	}
	return b.counter.Points(batch)
}

// A state of 100 MiB passes in both directions, through TLS and all.
func TestLargeCheckpoint(t *testing.T) {
	wired := launch(t, launcher(), "echo")
	request := trial(nil)
	request.Checkpoint = bytes.Repeat([]byte("0123456789abcdef"), 100<<16)
	sink := &trainertest.Sink{}
	if _, err := wired.Train(t.Context(), request, sink); err != nil {
		t.Fatal(err)
	}
	if c := sink.Checkpoints(); len(c) != 1 || !bytes.Equal(c[0].State, request.Checkpoint) {
		t.Error("the checkpoint came back changed")
	}
}

// A checkpoint that a trainer offers when it is cancelled still arrives.
func TestLastCheckpoint(t *testing.T) {
	started := make(chan struct{})
	wired := loopback(t, &stub{train: func(ctx context.Context, _ sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		close(started)
		<-ctx.Done()
		if err := sink.Checkpoint(42, []byte("state")); err != nil {
			return nil, err
		}
		return nil, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	sink := &trainertest.Sink{}
	if _, err := wired.Train(ctx, trial(nil), sink); !errors.Is(err, context.Canceled) {
		t.Fatalf("Train: %v, want %v", err, context.Canceled)
	}
	if c := sink.Checkpoints(); len(c) != 1 || c[0].Step != 42 || string(c[0].State) != "state" {
		t.Errorf("checkpoints %v, want one of step 42", c)
	}
}

// A trainer takes one trial at a time.
func TestOneTrialAtATime(t *testing.T) {
	started, leave := make(chan struct{}), make(chan struct{})
	wired := loopback(t, &stub{train: func(context.Context, sweep.TrainRequest, sweep.Sink) (*sweep.Result, error) {
		close(started)
		<-leave
		return &sweep.Result{State: sweep.Completed}, nil
	}})
	done := make(chan error, 1)
	go func() {
		_, err := wired.Train(t.Context(), trial(nil), &trainertest.Sink{})
		done <- err
	}()
	<-started
	if _, err := wired.Train(t.Context(), trial(nil), &trainertest.Sink{}); err == nil ||
		!strings.Contains(err.Error(), "one at a time") {
		t.Errorf("a second Train: %v", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Errorf("the first Train: %v", err)
	}
}

// What a trainer sends that makes no sense is its error.
func TestMalformedAnswers(t *testing.T) {
	for name, train := range map[string]func(context.Context, sweep.TrainRequest, sweep.Sink) (*sweep.Result, error){
		"state": func(context.Context, sweep.TrainRequest, sweep.Sink) (*sweep.Result, error) {
			return &sweep.Result{State: "done"}, nil
		},
		"result's curve": func(context.Context, sweep.TrainRequest, sweep.Sink) (*sweep.Result, error) {
			return &sweep.Result{State: sweep.Completed, Curves: []sweep.Curve{{Metric: "loss", Steps: []int64{1}}}},
				nil
		},
		"curve": func(_ context.Context, _ sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
			return nil, sink.Points([]sweep.Curve{{Metric: "loss", Steps: []int64{1}}})
		},
	} {
		_, err := loopback(t, &stub{train: train}).Train(t.Context(), trial(nil), &trainertest.Sink{})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		t.Logf("%s: %v", name, err)
	}
}

// An unknown trainer is not found, and says where it was sought.
func TestUnknownTrainer(t *testing.T) {
	for name, want := range map[string]string{
		"quadratc":    `did you mean "quadratic"?`,
		"no-op":       `did you mean "noop"?`,
		"xyzzy":       examples,
		"../etc":      "without its directory",
		"/bin/true":   "without its directory",
		"..":          "without its directory",
		"":            "without its directory",
		"quadratic\n": examples,
	} {
		_, err := launcher().Launch(t.Context(), name)
		if !errors.Is(err, sweep.ErrNotFound) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("Launch(%q): %v, want %v and %q", name, err, sweep.ErrNotFound, want)
		}
	}
	if _, err := (&trainer.Launcher{}).Launch(t.Context(), "x"); !errors.Is(err, sweep.ErrNotFound) ||
		errors.Is(err, fs.ErrPermission) {
		t.Errorf("Launch of the zero Launcher: %v", err)
	}
	if names := launcher().Names(); !reflect.DeepEqual(names, []string{"echo", noop.Name, trainertest.ExampleName}) {
		t.Errorf("names %q", names)
	}
}

// FuzzDescription: no description that a trainer may send takes the worker down,
// and what is accepted comes through the wire unchanged.
func FuzzDescription(f *testing.F) {
	f.Add([]byte(`{"name":"d","parameters":[{"name":"n","type":"integer","default":3,"enum":[3,1e400],"defaults":[{"when":{"n":[1]},"value":{"a":[null]}}]}]}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"parameters":null,"metrics":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := trainer.DecodeDescription(data)
		if err != nil {
			return
		}
		encoded, err := trainer.EncodeDescription(d)
		if err != nil {
			t.Fatalf("%+v cannot be encoded: %v", d, err)
		}
		again, err := trainer.DecodeDescription(encoded)
		if err != nil {
			t.Fatalf("%s: %v", encoded, err)
		}
		if once, err := trainer.EncodeDescription(again); err != nil || !bytes.Equal(once, encoded) {
			t.Fatalf("%s becomes %s, %v", encoded, once, err)
		}
	})
}
