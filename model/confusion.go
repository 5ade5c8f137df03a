package model

// Confusion counts series by class and by the class that a network gives them.
type Confusion struct {
	Labels []string
	Counts [][]int // [class][predicted class]
}

// NewConfusion returns one of no series.
func NewConfusion(labels []string) *Confusion {
	c := &Confusion{Labels: labels, Counts: make([][]int, len(labels))}
	for i := range c.Counts {
		c.Counts[i] = make([]int, len(labels))
	}
	return c
}

// Add counts a series.
func (c *Confusion) Add(class, predicted int) { c.Counts[class][predicted]++ }

// Support returns the series of a class, Predicted those that are given it.
func (c *Confusion) Support(class int) (n int) {
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
