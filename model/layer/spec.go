package layer

import (
	"fmt"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// A Spec is a layer as data, for any type of numbers.
type Spec struct {
	Prefix string // of the names of its tensors
	// Options say what it is: [ElmanOptions], [ScalarGatedOptions], [GatedSpectralOptions],
	// [ModReLUOptions], [LSTMOptions], [GRUOptions], [AffineOptions], a [ResidualSpec],
	// [EmbeddingSpec] or [DropoutSpec].
	Options any
	// Matrix is the layer's matrix W, [Rows × Cols], of an LSTM each gate's; nil for those that have
	// none of their own.
	Matrix     weight.Spec
	Rows, Cols int
}

// ResidualSpec is a [Residual] block of that width round other layers.
type ResidualSpec struct {
	Inner      []Spec
	Width      int
	Activation kernel.Activation
	Slope      float64
}

// EmbeddingSpec is an [Embedding] that starts from N(0, Deviation²).
type EmbeddingSpec struct {
	Tokens, Width int
	Deviation     float64
}

// DropoutSpec is a [Dropout] layer.
type DropoutSpec struct {
	Width       int
	Probability float64
	Seed        uint64
	Number      int // tells it from the network's others
}

// Declare declares layers in the arena, one after the other, and returns the matrices that they
// have.
func Declare[F kernel.Float](
	set *kernel.Set[F], arena *weight.Arena[F], specs []Spec,
) (layers []Layer[F], matrices []weight.Matrix[F], err error) {
	defer arena.SetPrefix("")
	for _, s := range specs {
		arena.SetPrefix(s.Prefix)
		own, err := declareMatrices(set, arena, &s)
		if err != nil {
			return nil, nil, err
		}
		matrices = append(matrices, own...)
		var matrix weight.Matrix[F]
		if len(own) > 0 {
			matrix = own[0]
		}
		var l Layer[F]
		switch o := s.Options.(type) {
		case ElmanOptions:
			l, err = NewElman(set, arena, matrix, o)
		case ScalarGatedOptions:
			l, err = NewScalarGated(set, arena, matrix, o)
		case GatedSpectralOptions:
			l, err = NewGatedSpectral(set, arena, matrix, o)
		case ModReLUOptions:
			l, err = NewModReLU(set, arena, matrix, o)
		case LSTMOptions:
			if own == nil {
				l, err = NewLSTM(set, arena, o)
			} else {
				l, err = NewMatrixLSTM(set, arena, own, o)
			}
		case GRUOptions:
			l, err = NewGRU(set, arena, o)
		case AffineOptions:
			l, err = NewAffine(set, arena, matrix, o)
		case EmbeddingSpec:
			l, err = NewEmbedding(set, arena, o.Tokens, o.Width, o.Deviation)
		case DropoutSpec:
			l, err = NewDropout[F](o.Width, o.Probability, o.Seed, o.Number)
		case ResidualSpec:
			inner, more, failed := Declare(set, arena, o.Inner)
			if failed != nil {
				return nil, nil, failed
			}
			matrices = append(matrices, more...)
			l, err = NewResidual(set, NewStack(inner...), o.Width, o.Activation, o.Slope)
		default:
			err = fmt.Errorf("layer: no layer of a %T", s.Options)
		}
		if err != nil {
			return nil, nil, err
		}
		layers = append(layers, l)
	}
	return layers, matrices, nil
}

// declareMatrices declares the matrix of a layer, of an LSTM one a gate with its name as a prefix.
func declareMatrices[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], s *Spec) (
	matrices []weight.Matrix[F], err error) {
	if s.Matrix == nil {
		return nil, nil
	}
	prefixes := []string{""}
	if _, ok := s.Options.(LSTMOptions); ok {
		prefixes = lstmPrefixes
	}
	defer arena.SetPrefix(s.Prefix)
	for _, prefix := range prefixes {
		arena.SetPrefix(s.Prefix + prefix)
		matrix, err := weight.Declare(set, arena, s.Matrix, s.Rows, s.Cols)
		if err != nil {
			return nil, err
		}
		matrices = append(matrices, matrix)
	}
	return matrices, nil
}
