package dataset_test

import (
	"fmt"

	"sweep/model/dataset"
)

// A minibatch of a trial: open the set, hold out a part, cut the series into steps, gather.
func Example() {
	set, err := dataset.Open("", dataset.Reference{Name: dataset.GeneratedCBF})
	if err != nil {
		fmt.Println(err)
		return
	}
	train, validation := dataset.Split(set.Train.Labels, dataset.SplitRandom, 0.2, 1)
	sequences, err := dataset.Arrange(&set.Train, dataset.OrderPieces, set.Depth, set.InputSize)
	if err != nil {
		fmt.Println(err)
		return
	}
	batch := train[:16]
	inputs := make([]float32, sequences.Steps*len(batch)*sequences.InputSize)
	sequences.Gather(inputs, batch)
	var classes []int
	for _, row := range batch {
		classes = append(classes, set.Train.Labels[row])
	}
	fmt.Println(len(train), "to train,", len(validation), "held out")
	fmt.Println(sequences.Steps, "steps of", sequences.InputSize, "values, one-hot width", set.OutputWidth)
	fmt.Println(classes)
	// Output:
	// 24 to train, 6 held out
	// 16 steps of 8 values, one-hot width 4
	// [0 1 2 0 1 2 1 2 1 2 0 1 0 1 2 0]
}
