package policy

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sweep/sweep"
	"sweep/sweep/portable"
)

var sobolKind = Kind{
	Name: "sobol", Key: MethodKey, Draws: true, New: func() Settings { return &Sobol{} },
	Doc: "draws those of a scrambled Sobol sequence, which are more even",
}

// Sobol has the points of a search be those of a scrambled Sobol sequence, which cover the space more evenly than
// independent ones. Each axis with more than one value is the next dimension: a draw depends on that, too.
type Sobol struct{ defaults }

func (*Sobol) kind() *Kind { return &sobolKind }

func (*Sobol) arrange(spec *sweep.Spec, grid *sweep.Grid) (*sweep.Grid, error) {
	axes := drawn(spec)
	var varying []int
	for i := range axes {
		if axes[i].Parameters[0].Values.Distribution != nil || axes[i].Len() > 1 {
			varying = append(varying, i)
		}
	}
	if len(varying) > SobolDimensions {
		return nil, parameterError(axes[varying[SobolDimensions]].Parameters[0].Name, "is number %d of the parameters "+
			"that vary, and a Sobol search has at most %d: give some of them one value, or write method: random",
			SobolDimensions+1, SobolDimensions)
	}
	if spec.Cap > 1<<sobolBits {
		return nil, ErrSobolPoints
	}
	dimensions, err := sobolDirections(len(varying))
	if err != nil {
		return nil, err
	}
	seeds, own := make([]uint64, len(spec.Axes)), make([]*directions, len(spec.Axes))
	for k, i := range varying {
		own[i], seeds[i] = &dimensions[k], seedOf(spec, i)
	}
	return grid.Draw(func(draw uint64, axis int) float64 {
		if own[axis] == nil { // it has one value
			return 0.5
		}
		return portable.Share(scramble(own[axis].at(draw), seeds[axis]) << (64 - sobolBits))
	}), nil
}

// seedOf is the seed of the draws of an axis.
func seedOf(spec *sweep.Spec, axis int) uint64 {
	name := portable.Hash(spec.Axes[axis].Parameters[0].Name)
	return portable.Mix(name ^ portable.Mix(uint64(spec.Random.Seed)+portable.Golden))
}

// drawn are the axes of a spec that are drawn.
func drawn(spec *sweep.Spec) []sweep.Axis {
	if spec.Random.Replicated {
		return spec.Axes[:len(spec.Axes)-1]
	}
	return spec.Axes
}

// SobolDimensions is how many axes with more than one value a Sobol search can have.
const SobolDimensions = 256

// sobolBits is the number of binary digits of a coordinate; a search has 2^sobolBits points.
const sobolBits = portable.ShareBits

// ErrSobolPoints says that Spec.Cap is above the number of points of a Sobol search.
var ErrSobolPoints = errors.New("a Sobol search has at most 2^52 points: lower run_cap")

// directionNumbers has the initial direction numbers of each dimension but the first, with source
// and licence (S. Joe, F. Y. Kuo, Constructing Sobol sequences with better two-dimensional
// projections, SIAM J. Sci. Comput. 30 (2008), 2635–2654).
//
//go:embed joe-kuo.txt
var directionNumbers string

// directions are the direction numbers of one dimension as binary fractions of sobolBits digits.
type directions [sobolBits]uint64

// sobolDirections returns the direction numbers of the first n dimensions, n ≤ SobolDimensions.
func sobolDirections(n int) ([]directions, error) {
	dimensions := make([]directions, 0, n)
	var first directions
	for k := range first {
		first[k] = 1 << (sobolBits - 1 - k)
	}
	dimensions = append(dimensions, first)
	for line := range strings.Lines(directionNumbers) {
		if len(dimensions) >= n {
			break
		}
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "d") {
			continue
		}
		var numbers []uint64
		for _, field := range strings.Fields(line) {
			number, err := strconv.ParseUint(field, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("direction numbers: %w", err)
			}
			numbers = append(numbers, number)
		}
		dimensions = append(dimensions, extendDirections(numbers[2], numbers[3:]))
	}
	return dimensions[:n], nil
}

// extendDirections returns all direction numbers of a dimension from its initial ones m and the
// coefficients a of its primitive polynomial of degree len(m).
func extendDirections(a uint64, m []uint64) directions {
	var v directions
	degree := len(m)
	for k := range v {
		if k < degree {
			v[k] = m[k] << (sobolBits - 1 - k)
			continue
		}
		v[k] = v[k-degree] ^ v[k-degree]>>degree
		for i := 1; i < degree; i++ {
			if a>>(degree-1-i)&1 == 1 {
				v[k] ^= v[k-i]
			}
		}
	}
	return v
}

// at returns the coordinate of the point with the given index, in units of 2^-sobolBits. The points
// are in the order of Gray codes, as in the programs of Joe and Kuo and in SciPy.
func (v *directions) at(index uint64) (x uint64) {
	gray := index ^ index>>1
	for k := 0; gray != 0; k++ {
		if gray&1 == 1 {
			x ^= v[k]
		}
		gray >>= 1
	}
	return x
}

// scramble flips each binary digit of x or not, by a random bit of its own for each value of the
// digits before it: nested uniform scrambling (A. B. Owen, Randomly permuted (t,m,s)-nets and
// (t,s)-sequences, Lecture Notes in Statistics 106 (1995), 299–317). A scrambled point is uniformly
// distributed, and the points remain a digital net. The bits are outputs of splitmix64, at the
// place that the digits before number.
func scramble(x, seed uint64) uint64 {
	var flips uint64
	for digit := range sobolBits {
		before := 1<<digit | x>>(sobolBits-digit)
		flips |= portable.Mix(seed+portable.Golden*before) >> 63 << (sobolBits - 1 - digit)
	}
	return x ^ flips
}
