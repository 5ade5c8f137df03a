package dataset

import (
	"math"
	"slices"
)

// streams of the generator, one for each use of a seed
const (
	streamSplit = iota + 1
	streamCBF
	streamPermutation
)

// Split holds out a share of n series for validation, chosen at random by the seed: fraction · n of them, halves rounded
// up, but at least one, and at least one is left to train on. Both lists are in ascending order and share no element. A
// single series cannot be parted and stays to train on.
func Split(n int, fraction float64, seed uint64) (train, validation []int) {
	if n <= 0 {
		return nil, nil
	}
	held := 0
	if want := math.Floor(float64(fraction*float64(n)) + 0.5); want > 0 {
		held = int(min(want, float64(n)))
	}
	held = min(max(held, 1), n-1)
	order := newRandom(seed, streamSplit).permutation(n)
	validation, train = order[:held:held], order[held:]
	slices.Sort(validation)
	slices.Sort(train)
	return train, validation
}
