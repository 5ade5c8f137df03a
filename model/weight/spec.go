package weight

import (
	"fmt"

	"sweep/model/kernel"
)

// A Spec says how a matrix is parametrised, as data for any type of numbers: a [DenseSpec],
// [ParsevalSpec], [HouseholderSpec], [RotationsSpec], [ExponentialSpec], [UnitarySpec], [FullUnitarySpec],
// [SVDOptions] or [FactorizedOptions].
type Spec any

type (
	// DenseSpec is a [Dense] matrix named W.
	DenseSpec struct{}
	// ParsevalSpec is a [Parseval] matrix named W.
	ParsevalSpec struct{ Lambda float64 }
	// HouseholderSpec is a [Householder] matrix.
	HouseholderSpec struct{ Reflectors int }
	// RotationsSpec is [Rotations] with the permutations of a seed.
	RotationsSpec struct{ Seed uint64 }
	// UnitarySpec is a [Unitary] matrix with the permutation of a seed.
	UnitarySpec struct{ Seed uint64 }
	// FullUnitarySpec is a [FullUnitary] matrix that moves at so many times the learning rate.
	FullUnitarySpec struct{ Rate float64 }
	// ExponentialSpec is an [Exponential] matrix.
	ExponentialSpec struct{}
)

// Declare declares the matrix of a spec, [rows × cols], in the arena.
func Declare[F kernel.Float](set *kernel.Set[F], arena *Arena[F], spec Spec, rows, cols int) (Matrix[F], error) {
	switch s := spec.(type) {
	case DenseSpec:
		return NewDense(set, arena, "W", rows, cols)
	case ParsevalSpec:
		return NewParseval(set, arena, "W", rows, cols, s.Lambda)
	case HouseholderSpec:
		return NewHouseholder(set, arena, rows, cols, s.Reflectors)
	case RotationsSpec:
		return NewRotations(set, arena, rows, nil, s.Seed)
	case UnitarySpec:
		return NewUnitary(set, arena, rows/2, s.Seed)
	case FullUnitarySpec:
		return NewFullUnitary(set, arena, rows/2, s.Rate)
	case ExponentialSpec:
		return NewExponential(arena, rows)
	case SVDOptions:
		return NewSVD(set, arena, rows, cols, s)
	case FactorizedOptions:
		return NewFactorized(set, arena, rows, cols, s)
	}
	return nil, fmt.Errorf("weight: no matrix of a %T", spec)
}
