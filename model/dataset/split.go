package dataset

import (
	"fmt"
	"math"
	"slices"

	"sweep/model/random"
)

// Strategy is how the series held out for validation are chosen.
type Strategy string

const (
	// SplitRandom draws them from all series alike, as the paper does: a class of few series may be left without one.
	SplitRandom Strategy = "random"
	// SplitStratified draws from each class its share, and at least one series where the class has two.
	SplitStratified Strategy = "stratified"
	// SplitListed draws none: the set has a list of its own, see [Set.Listed].
	SplitListed Strategy = "listed"
)

// ParseStrategy returns the strategy of that name.
func ParseStrategy(name string) (Strategy, error) {
	switch s := Strategy(name); s {
	case SplitRandom, SplitStratified, SplitListed:
		return s, nil
	}
	return "", fmt.Errorf("split %q: want %s, %s or %s", name, SplitRandom, SplitStratified, SplitListed)
}

// Split holds out a share of the series with the given classes for validation, chosen at random by the seed: fraction ·
// n of them, halves rounded up, but at least one unless the fraction is 0, and at least one is left to train on. A
// stratified split holds out more where there are more classes than that, and none of a class that has one series. Both
// lists are in ascending order and share no element. A single series cannot be parted and stays to train on.
func Split(labels []int, strategy Strategy, fraction float64, seed uint64) (train, validation []int) {
	n := len(labels)
	if n == 0 {
		return nil, nil
	}
	if fraction == 0 {
		for row := range labels {
			train = append(train, row)
		}
		return train, nil
	}
	count := 0
	if want := math.Floor(float64(fraction*float64(n)) + 0.5); want > 0 {
		count = int(min(want, float64(n)))
	}
	count = min(max(count, 1), n-1)
	order := random.New(seed, random.Split).Permutation(n)
	if strategy == SplitStratified {
		count = bringForward(order, labels, shares(labels, count))
	}
	validation, train = order[:count:count], order[count:]
	slices.Sort(validation)
	slices.Sort(train)
	return train, validation
}

// shares is how many series of each class are held out if total are together: in proportion to its series, the rest to
// those that lack most, but from 1 to all but one.
func shares(labels []int, total int) []int {
	counts := make([]int, slices.Max(labels)+1)
	for _, class := range labels {
		counts[class]++
	}
	result, sum := make([]int, len(counts)), 0
	for class, count := range counts {
		if count >= 2 {
			result[class] = min(max(total*count/len(labels), 1), count-1)
			sum += result[class]
		}
	}
	for change := 1; sum != total; sum += change {
		if sum > total {
			change = -1
		}
		most, lack := -1, math.Inf(-1)
		for class, count := range counts {
			changed := result[class] + change
			if changed < 1 || changed >= count {
				continue
			}
			if l := float64(change) * (float64(total*count) - float64(len(labels)*result[class])); l > lack {
				most, lack = class, l
			}
		}
		if most < 0 {
			break
		}
		result[most] += change
	}
	return result
}

// bringForward puts the first so many series of each class before all others and returns their number.
func bringForward(order, labels, shares []int) (count int) {
	var rest []int
	for _, row := range order {
		if class := labels[row]; shares[class] > 0 {
			shares[class]--
			order[count] = row
			count++
		} else {
			rest = append(rest, row)
		}
	}
	copy(order[count:], rest)
	return count
}
