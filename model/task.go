package model

import (
	"fmt"

	"sweep/model/dataset"
	"sweep/sweep"
)

// task is a data set made ready for one trial: sequences in the trial's input
// order, and the rows to train and to validate on.
type task struct {
	set               *dataset.Set
	steps, inputs     int
	train, test       *dataset.Sequences
	trainRows         []int
	validationRows    []int
	testRows          []int
	labels, testLabel []int
}

// shapeOf returns depth T and input size n_i of a set under the settings.
func shapeOf(set *dataset.Set, s *settings) (steps, inputs int, err error) {
	inputs = s.inputSize
	if inputs == 0 {
		inputs = set.InputSize
	}
	if inputs > set.Length || set.Length%inputs != 0 {
		return 0, 0, &sweep.ParameterError{Parameter: "input_size", Value: int64(s.inputSize),
			Problem: fmt.Sprintf("must divide the length %d of %s's series", set.Length, set.Name)}
	}
	return set.Length / inputs, inputs, nil
}

func newTask(set *dataset.Set, s *settings) (*task, error) {
	steps, inputs, err := shapeOf(set, s)
	if err != nil {
		return nil, err
	}
	order, err := dataset.ParseOrder(s.order)
	if err != nil {
		return nil, &sweep.ParameterError{Parameter: "order", Value: s.order, Problem: err.Error()}
	}
	t := &task{set: set, steps: steps, inputs: inputs, labels: set.Train.Labels, testLabel: set.Test.Labels}
	if t.train, err = dataset.Arrange(&set.Train, order, steps, inputs); err != nil {
		return nil, err
	}
	if t.test, err = dataset.Arrange(&set.Test, order, steps, inputs); err != nil {
		return nil, err
	}
	t.trainRows, t.validationRows = dataset.Split(set.Train.N, s.validation, s.seed)
	t.testRows = make([]int, set.Test.N)
	for i := range t.testRows {
		t.testRows[i] = i
	}
	return t, nil
}
