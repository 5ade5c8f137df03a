// Package trainertest is the test suite that every trainer must pass, called directly and over
// RPC. Folder example holds a trainer with which workers are tested.
//
// A trainer runs the suite in one test:
//
//	func TestTrainer(t *testing.T) {
//		trainertest.Run(t, func(*testing.T) sweep.Trainer { return New() }, trainertest.Fixture{
//			Parameters: sweep.Parameters{"epochs": 10},
//		})
//	}
package trainertest

import (
	"testing"

	"sweep/sweep"
	"sweep/worker/trainer"
)

// Fixture tells the suite what to train. The trainer's defaults complete its parameters.
type Fixture struct {
	DataDir string
	// Parameters are those of a trial of a second or less that sends samples.
	Parameters sweep.Parameters
	// Long, if not nil, are those of a trial that takes a minute unless it is cancelled,
	// and sends samples or checkpoints meanwhile.
	Long sweep.Parameters
	// Resumable, if not nil, are those of a trial of a few seconds that sends checkpoints.
	Resumable sweep.Parameters
	// Continued, if not nil, are those of a trial that can be continued from a shorter one.
	Continued sweep.Parameters
	// Refused are trials that must be refused because of a parameter, besides those that
	// the suite derives from the schema.
	Refused []sweep.Parameters
	// OtherLevel, if not nil, opens the trainer at another kernel level, where it computes
	// other bits. Neither trainer may resume from the other's checkpoints.
	OtherLevel func(t *testing.T) sweep.Trainer
}

// Run runs the suite on the trainers that open returns, called directly ("direct") and over RPC
// ("wire"). Every subtest opens its own trainer.
func Run(t *testing.T, open func(t *testing.T) sweep.Trainer, fixture Fixture) {
	t.Run("direct", func(t *testing.T) { run(t, open, fixture) })
	t.Run("wire", func(t *testing.T) {
		if other := fixture.OtherLevel; other != nil {
			fixture.OtherLevel = func(t *testing.T) sweep.Trainer { return wired(t, other(t)) }
		}
		run(t, func(t *testing.T) sweep.Trainer { return wired(t, open(t)) }, fixture)
	})
}

// wired returns a client that calls the trainer over RPC.
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
		{"Continue", testContinue},
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

// resolve completes parameters with the trainer's defaults.
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
