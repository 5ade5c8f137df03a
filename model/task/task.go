// Package task has what networks are trained for: one file for each kind of task,
// with its definition's source, the parameters that it has of its own, its shape and
// its streams of minibatches. The registry lists them; schema, checks and
// documentation come from there.
package task

import (
	"sweep/model/dataset"
	"sweep/model/protocol"
	"sweep/sweep"
)

// A Kind is one kind of task.
type Kind struct {
	// Name is the value of the parameter task.
	Name string
	// Doc says in a few words what it is, Source where its definition comes from.
	Doc, Source string

	// Datasets are the data sets that are this task's; none for the one that all
	// others belong to.
	Datasets []string
	// Parameters are those that not every task has. Several may have one in common.
	Parameters []*sweep.ParameterSchema
	// Defaults are the task's own defaults of parameters that others have, too.
	Defaults map[string]any

	// Measures are what outputs are compared by besides their loss.
	Measures []*Measure

	// open makes the task of a trial.
	open func(o *Options) (Task, error)
}

// A Task is a kind of task with the choices and the data of a trial.
type Task interface {
	// Shape returns what a network for the task reads and puts out.
	Shape() Shape

	// Schedule returns how long training takes, and when to validate.
	Schedule() Schedule

	// Count returns how many sequences are trained on between two validations, or
	// make up another part.
	Count(part Part) int

	// Batch returns how many sequences the minibatches of a part have at most if so
	// many are wanted.
	Batch(part Part, wanted int) int

	// Open returns the part's minibatches of so many sequences, as far as there are
	// so many, from the first on. Streams of one task may be used side by side.
	Open(part Part, wanted int) (Stream, error)

	// Digest identifies the data: equal ones have equal digests.
	Digest() string

	// Facts are the summary metrics that say what the data are.
	Facts() map[string]float64

	// Notes say what a reader of the results should know of the data, such as parts that are not whole.
	Notes() []string

	// Memory returns how many bytes the data take.
	Memory() int64
}

// Shape is what a network for a task reads and puts out.
type Shape struct {
	Steps      int    // time steps of a sequence, at most
	Inputs     int    // numbers a step; none where steps are tokens
	Vocabulary int    // tokens that there are; 0 where steps are numbers
	Outputs    int    // width of an output
	Every      bool   // an output is due at every step, not at the last alone
	Classes    bool   // the target of an output is a class, not values
	Loss       string // as in [sweep/model/loss]
	Padded     bool   // sequences have different lengths: some outputs have [loss.NoTarget]
	Single     bool   // of the outputs of a sequence one has a target
	Carries    bool   // some minibatches go on where the one before ended
}

// Rows returns the number of outputs, and targets, of so many sequences of so many steps.
func (s *Shape) Rows(sequences, steps int) int {
	if s.Every {
		return sequences * steps
	}
	return sequences
}

// Schedule is how long training takes, in steps.
type Schedule struct {
	Steps    int  // of all
	Interval int  // between validations; also what a decay of the rate counts by
	Epochs   bool // an interval is an epoch, and curves count epochs, not steps
	Refit    int  // the last steps, those that train on the validation rows, too
	Average  int  // the last intervals, the mean of whose weights is kept, not the last's
}

// Refits says whether the last of so many steps trained on the validation rows, too,
// so that there is nothing to validate on any more.
func (s Schedule) Refits(steps int) bool { return steps > s.Steps-s.Refit }

// Mark is where a number of steps stands in curves.
func (s Schedule) Mark(steps int) int {
	if s.Epochs {
		return steps / s.Interval
	}
	return steps
}

// Intervals is the number of validations.
func (s Schedule) Intervals() int { return 1 + (s.Steps-1)/s.Interval }

// Part is one of the three parts of the data.
type Part int

// The parts.
const (
	Train Part = iota
	Validation
	Test
)

// A Stream is the minibatches of a part, one after the other. Each is a function of the trial
// and the stream's position alone.
type Stream interface {
	// Next fills the batch with the next minibatch; false where there is none any
	// more. Training never ends.
	Next(b *Batch[float32]) bool

	// Position returns how many minibatches there have been, Seek sets it.
	Position() int
	Seek(position int)
}

// cursor is the position of a [Stream], so that a checkpoint may lie within an epoch.
type cursor struct{ position int }

func (c *cursor) Position() int { return c.position }

func (c *cursor) Seek(position int) { c.position = position }

// Options are the choices of a trial.
type Options struct {
	sweep.ParameterReader // of the resolved parameters

	Protocol protocol.Protocol
	Seed     uint64
	Batch    int // sequences in a minibatch of training
	Model    string
	// FeedForward says that the network reads a sequence at once.
	FeedForward bool

	DataDir string
	Cache   *dataset.Cache // of data sets
}

// refuseFeedForward refuses networks that read a sequence at once where there is an
// answer to more than that.
func (o *Options) refuseFeedForward() error {
	if o.FeedForward {
		return o.Refuse("model", "reads a whole series at once, which only classification allows")
	}
	return nil
}

// reference names the data set that the parameters ask for.
func (o *Options) reference() dataset.Reference {
	return dataset.Reference{
		Name: o.Text("dataset"), Exchange: dataset.Exchange(o.Text("exchange")), Limit: o.Integer("limit"),
		Permutation: uint64(o.Integer("permutation")), Normalization: dataset.Normalization(o.Text("normalize")),
		Missing: dataset.Missing(o.Text("missing")),
	}
}
