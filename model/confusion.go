package model

import (
	"context"
	"encoding/json"
	"slices"

	"sweep/model/kernel"
	"sweep/model/task"
)

// Confusion counts series by class and by the class that a network gives them.
type Confusion struct {
	Labels []string
	Counts [][]int // [class][predicted class]
	// Unassigned are, of each class, those whose largest output stands for no class: the published networks
	// of UCR sets have such outputs, which count as wrong.
	Unassigned []int
}

// NewConfusion returns one of no series.
func NewConfusion(labels []string) *Confusion {
	c := &Confusion{Labels: labels, Counts: make([][]int, len(labels)), Unassigned: make([]int, len(labels))}
	for i := range c.Counts {
		c.Counts[i] = make([]int, len(labels))
	}
	return c
}

// Add counts a series, which is given no class by a number beyond them.
func (c *Confusion) Add(class, predicted int) {
	if predicted >= len(c.Labels) {
		c.Unassigned[class]++
		return
	}
	c.Counts[class][predicted]++
}

// Support returns the series of a class, Predicted those that are given it.
func (c *Confusion) Support(class int) (n int) {
	n = c.Unassigned[class]
	for _, count := range c.Counts[class] {
		n += count
	}
	return n
}

// Predicted returns the series that are given a class.
func (c *Confusion) Predicted(class int) (n int) {
	for _, row := range c.Counts {
		n += row[class]
	}
	return n
}

// Accuracy returns the share of series that are given their class.
func (c *Confusion) Accuracy() float64 {
	correct, all := 0, 0
	for class, row := range c.Counts {
		correct += row[class]
		all += c.Support(class)
	}
	return share(correct, all)
}

// Precision returns the share of the series that are given a class that are of it; 0 where there are none.
func (c *Confusion) Precision(class int) float64 {
	return share(c.Counts[class][class], c.Predicted(class))
}

// Recall returns the share of the series of a class that are given it; 0 where there are none.
func (c *Confusion) Recall(class int) float64 { return share(c.Counts[class][class], c.Support(class)) }

// F1 returns the harmonic mean of precision and recall; 0 where one of them is.
func (c *Confusion) F1(class int) float64 {
	return share(2*c.Counts[class][class], c.Predicted(class)+c.Support(class))
}

// MacroF1 returns the mean of F1 over the classes.
func (c *Confusion) MacroF1() float64 {
	sum := 0.0
	for class := range c.Counts {
		sum += c.F1(class)
	}
	return sum / float64(len(c.Counts))
}

func share(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

// MarshalJSON writes the counts, accuracy and macro F1, and precision, recall and F1 of each class.
func (c *Confusion) MarshalJSON() ([]byte, error) {
	type class struct {
		Label     string  `json:"label"`
		Series    int     `json:"series"`
		Precision float64 `json:"precision"`
		Recall    float64 `json:"recall"`
		F1        float64 `json:"f1"`
	}
	var classes []class
	for i, label := range c.Labels {
		classes = append(classes, class{label, c.Support(i), c.Precision(i), c.Recall(i), c.F1(i)})
	}
	return json.Marshal(struct {
		Accuracy float64 `json:"accuracy"`
		MacroF1  float64 `json:"f1_macro"`
		Classes  []class `json:"classes"`
		Counts   [][]int `json:"counts"`

		Unassigned []int `json:"unassigned"`
	}{c.Accuracy(), c.MacroF1(), classes, c.Counts, c.Unassigned})
}

// confusion counts the series of the test part by the network's present weights. The task is a
// classification.
func (t *training) confusion(ctx context.Context) (*Confusion, error) {
	c := NewConfusion(t.task.(interface{ Reading() *task.Reading }).Reading().Labels)
	stream := t.streams[task.Test]
	var row []float32
	for stream.Seek(0); stream.Next(t.batch); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t.net.Classify(t.batch, func(outputs kernel.Matrix[float32], classes []int) {
			for i, class := range classes {
				row = t.net.Loss.Probabilities(row[:0], outputs.Row(i))
				c.Add(class, predicted(outputs.Row(i), row))
			}
		})
	}
	return c, nil
}

// predicted returns the class of the largest output, of which a single one tells two classes apart by
// their probabilities. These alone, rounded, may be equal where outputs are not.
func predicted(outputs, probabilities []float32) int {
	if len(outputs) > 1 {
		probabilities = outputs
	}
	return slices.Index(probabilities, slices.Max(probabilities))
}
