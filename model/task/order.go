package task

import "sweep/model/random"

// order is the rows of the minibatches of training, each epoch in an order of its own.
type order struct {
	from  []int // the rows
	refit []int // these and more, from the minibatch after on; nil for none
	after int
	seed  uint64
	batch int

	rows []int // in the order of the epoch
	of   int   // the epoch whose order that is, -1 before the first
}

// newOrder returns the order of the rows in minibatches of so many.
func newOrder(rows []int, batch int, seed uint64) *order {
	return &order{from: rows, seed: seed, batch: batch, rows: make([]int, 0, len(rows)), of: -1}
}

// refitAfter has it go over more rows after so many minibatches.
func (o *order) refitAfter(minibatches int, rows []int) {
	o.after, o.refit, o.rows = minibatches, rows, make([]int, 0, len(rows))
}

// epochSteps is the number of minibatches of so many that an epoch of rows has.
func epochSteps(rows, batch int) int { return 1 + (rows-1)/batch }

// minibatch returns the rows of the minibatch of that number, valid until the next call.
func (o *order) minibatch(number int) []int {
	rows := o.from
	if o.refit != nil && number >= o.after {
		rows = o.refit
	}
	steps := epochSteps(len(rows), o.batch)
	if epoch := number / steps; epoch != o.of || len(rows) != len(o.rows) {
		o.of = epoch
		o.rows = append(o.rows[:0], rows...)
		random.New(o.seed, random.Order.At(epoch)).Shuffle(o.rows)
	}
	first := number % steps * o.batch
	return o.rows[first:min(first+o.batch, len(o.rows))]
}

// upTo returns 0 … n-1.
func upTo(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}
