// Package protocol is what a trial does with the rows held out for validation: how they are
// drawn, which weights are kept by them, and whether the last epochs train on them, too. What
// two trials measure can be compared only if these agree.
//
//	p, err := protocol.Read(&sweep.ParameterReader{Parameters: resolved})
//	train, validation := dataset.Split(labels, p.Split, p.Validation, seed)
//	if p.Rule.Better(now, kept) { … }
package protocol

import (
	"fmt"
	"math"
	"slices"

	"sweep/model/dataset"
	"sweep/sweep"
)

// Protocol are the choices of a trial.
type Protocol struct {
	Validation float64 // share of the training rows that is held out; 0, which Final alone allows, for none
	Split      dataset.Strategy
	Rule       Rule

	refit, average float64 // shares of the epochs
}

// Read reads a protocol from resolved parameters. What makes no sense together is a
// [*sweep.ParameterError], as is a value of the wrong type.
func Read(r *sweep.ParameterReader) (Protocol, error) {
	p := Protocol{
		Validation: r.Number("validation"), Split: dataset.Strategy(r.Text("split")), Rule: Rule(r.Text("epoch_rule")),
		refit: r.Number("refit"), average: r.Number("average"),
	}
	if err := r.Err(); err != nil {
		return p, err
	}
	refuse := func(name string, problem any) (Protocol, error) {
		return p, &sweep.ParameterError{Parameter: name, Value: r.Parameters[name], Problem: fmt.Sprint(problem)}
	}
	if _, err := dataset.ParseStrategy(string(p.Split)); err != nil {
		return refuse("split", err)
	}
	if !slices.Contains(Rules, p.Rule) {
		return refuse("epoch_rule", fmt.Sprintf("is not known: want one of %v", Rules))
	}
	const whole = "has no effect here: validation is 0, so all rows are trained on from the first epoch"
	switch {
	case p.Validation > 0:
	case p.Rule != Final:
		return refuse("epoch_rule", "goes by validation, for which validation: 0 holds nothing out: want final")
	case p.refit > 0:
		return refuse("refit", whole)
	case p.Split != dataset.SplitRandom:
		return refuse("split", whole)
	}
	if p.average > 0 && p.refit == 0 {
		return refuse("average", "has no effect here: it applies only where refit is above 0")
	}
	return p, nil
}

// Refit returns how many of so many epochs, the last, train on the rows held out, too. The first
// never does.
func (p Protocol) Refit(epochs int) int { return min(share(p.refit, epochs), epochs-1) }

// Average returns how many of so many epochs, the last of the refit, have the mean of their
// final weights kept.
func (p Protocol) Average(epochs int) int { return min(share(p.average, epochs), p.Refit(epochs)) }

func share(of float64, epochs int) int { return int(math.Round(of * float64(epochs))) }

// A Rule says the weights of which epoch, or validation, are kept and tested.
type Rule string

// The rules, by the names of the parameter epoch_rule.
const (
	LastSmallestError  Rule = "last-smallest-error"
	FirstSmallestError Rule = "first-smallest-error"
	SmallestLoss       Rule = "smallest-loss"
	Final              Rule = "final"
)

// Rules are all of them.
var Rules = []Rule{LastSmallestError, FirstSmallestError, SmallestLoss, Final}

// A Score is what a validation comes to.
type Score struct{ Error, Loss float64 }

// Better says whether later weights are kept in place of those kept so far.
func (r Rule) Better(now, kept Score) bool {
	switch r {
	case LastSmallestError:
		return now.Error <= kept.Error
	case FirstSmallestError:
		return now.Error < kept.Error
	case SmallestLoss:
		return now.Loss < kept.Loss
	}
	return true
}

// Check refuses a rule by errors for a task that counts none.
func (r Rule) Check(errors bool) error {
	if !errors && r != SmallestLoss && r != Final {
		return &sweep.ParameterError{
			Parameter: "epoch_rule", Value: string(r),
			Problem: "goes by errors, which this task does not count: want smallest-loss or final",
		}
	}
	return nil
}
