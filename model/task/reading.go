package task

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sweep/model/dataset"
)

// Reading is how a classification reads series and what its outputs mean: what weights are of no use without. It is
// stored with them.
type Reading struct {
	// Labels are those of the classes, in the order of the outputs, of which there may be more.
	Labels []string `json:"labels"`
	// Outputs and Loss are as in [Shape]; so is Inputs, the numbers a step.
	Outputs int    `json:"outputs"`
	Loss    string `json:"loss"`
	Inputs  int    `json:"inputs"`

	Order dataset.Order `json:"order"`
	// Length is that of the series after the preparation, of the longest if they are Uneven.
	Length int  `json:"length"`
	Uneven bool `json:"uneven,omitempty"`
	// Channels are their names, as far as they have some.
	Channels    []string             `json:"channels,omitempty"`
	Preparation *dataset.Preparation `json:"preparation"`
	// Permutation is the fixed one of the values of a series, before anything else: value i is what was value
	// Permutation[i].
	Permutation []int `json:"permutation,omitempty"`
}

// Reading returns how the task reads series.
func (c *classified) Reading() *Reading {
	set := c.set
	return &Reading{
		Labels: set.Labels, Outputs: set.OutputWidth, Loss: c.options.Text("loss"), Inputs: c.inputs, Order: c.order,
		Length: set.Length, Uneven: set.Train.Lengths != nil, Channels: set.ChannelNames, Preparation: set.Preparation,
		Permutation: set.Permutation,
	}
}

// Check returns an error unless the numbers fit together, as those of a file may not.
func (r *Reading) Check() error {
	p := r.Preparation
	switch {
	case len(r.Labels) < 2, r.Outputs < len(r.Labels) && (r.Outputs != 1 || len(r.Labels) != 2):
		return fmt.Errorf("%d labels for %d outputs", len(r.Labels), r.Outputs)
	case r.Inputs < 1 || r.Inputs > r.Length || r.Length > math.MaxInt32:
		return fmt.Errorf("steps of %d inputs for series of %d", r.Inputs, r.Length)
	case p == nil || len(p.Means) == 0 || len(p.Means) != len(p.Deviations):
		return fmt.Errorf("no means and deviations of the channels")
	case r.Permutation != nil && (p.Width() != 1 || !isPermutation(r.Permutation)):
		return fmt.Errorf("the permutation of the values is none")
	}
	_, err := dataset.ParseOrder(string(r.Order))
	return err
}

func isPermutation(p []int) bool {
	sorted := slices.Sorted(slices.Values(p))
	for i, v := range sorted {
		if v != i {
			return false
		}
	}
	return true
}

// Open returns the minibatches of series as the task reads them, of up to so many, and the shape of a network for them.
// A network that reads a series at once takes those of the length that it was trained on; a recurrent one any.
func (r *Reading) Open(s *dataset.Series, feedForward bool, batch int) (Shape, Stream, error) {
	fail := func(i int, format string, args ...any) (Shape, Stream, error) {
		return Shape{}, nil, &dataset.FileError{Path: s.Path, Row: s.Rows[i], Kind: dataset.ErrForm,
			Detail: fmt.Sprintf(format, args...)}
	}
	p := r.Preparation
	if s.Width != p.Channels() {
		return fail(0, "%d channels, and the model reads %d", s.Width, p.Channels())
	}
	if s.Channels != nil && r.Channels != nil && !slices.Equal(s.Channels, r.Channels) {
		return fail(0, "the channels are %s, and the model reads %s", strings.Join(s.Channels, ", "),
			strings.Join(r.Channels, ", "))
	}
	wide, longest := p.Width()/p.Channels(), 0
	part := dataset.Part{N: len(s.Values), Labels: make([]int, len(s.Values))}
	for i, values := range s.Values {
		n := len(values) * wide
		switch {
		case feedForward && (n > r.Length || n < r.Length && !r.Uneven):
			return fail(i, "%d values, and the model reads %d", len(values), r.Length/wide)
		case r.Permutation != nil && len(values) != len(r.Permutation):
			return fail(i, "%d values, and the model reads %d in an order of its own", len(values), len(r.Permutation))
		}
		part.Lengths, longest = append(part.Lengths, n), max(longest, n)
	}
	if feedForward {
		longest = r.Length
	}
	if longest > maxReading/max(part.N, 1) {
		return fail(0, "%d series, the longest of %d values: too many at once; split the file", part.N, longest)
	}
	part.Values = make([]float32, part.N*longest)
	for i, values := range s.Values {
		if r.Permutation != nil {
			permuted := make([]float32, len(values))
			for j, from := range r.Permutation {
				permuted[j] = values[from]
			}
			values = permuted
		}
		p.Apply(part.Values[i*longest:], values)
	}
	steps := (longest + r.Inputs - 1) / r.Inputs
	uneven := !feedForward && (slices.Min(part.Lengths) < longest || longest%r.Inputs != 0)
	if !uneven {
		part.Lengths = nil
	}
	sequences, err := dataset.Arrange(&part, r.Order, steps, r.Inputs)
	if err != nil {
		return Shape{}, nil, err
	}
	shape := Shape{Steps: steps, Inputs: r.Inputs, Outputs: r.Outputs, Classes: true, Loss: r.Loss, Every: uneven,
		Padded: uneven, Single: uneven}
	rows := minibatches{rows: upTo(part.N), size: batch}
	return shape, &series{from: sequences, labels: part.Labels, minibatches: rows}, nil
}

// maxReading bounds the values of series that are read at once.
const maxReading = 1 << 30
