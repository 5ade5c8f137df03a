package weight

import (
	"context"

	"sweep/model/kernel"
	"sweep/model/random"
)

// Factorized is a [Matrix] in the form of its singular value decomposition with dense
// factors, the weight of the factorized RNN (Vorontsov et al. 2017; Zhang, Lei and
// Dhillon 2018, §2 and equation 7):
//
//	W = U Σ Vᵀ      Uᵀ U = I      Vᵀ V = I
//
// with U [rows × k], V [cols × k], k = min(rows, cols), and σ in one of the forms that
// [FactorizedOptions] tell. U and V move by [RuleCayley], along the manifold of
// matrices with orthonormal columns; σ by the trial's rule. A square W has 2n² + n
// parameters, and a step costs of the order of n³ operations.
type Factorized[F kernel.Float] struct {
	spectrum[F]
	polar[F]
	rows, cols int
	u, v       *View[F]
	scaled     kernel.Matrix[F] // U Σ of the last call of Value; scratch of Pullback
	right      kernel.Matrix[F] // cols × k
}

// FactorizedOptions are the choices of a [Factorized] matrix.
type FactorizedOptions struct {
	Radius float64 // r, how far a singular value may be from Center; 0 fixes it there
	Center float64 // σ*, usually 1

	// Clip makes σ itself the parameter, clipped to [σ*-r, σ*+r] after every step;
	// else it is 2r (sigmoid(σ̂) - ½) + σ*.
	Clip bool
	// Penalty is λ of λ ‖σ - σ*‖², whose gradient Pullback adds.
	Penalty float64
	// Rate is the factor of the learning rate at which U and V move.
	Rate float64
}

// NewFactorized declares "U", "V" and "sigma_hat", or "sigma", in the arena.
func NewFactorized[F kernel.Float](set *kernel.Set[F], arena *Arena[F], rows, cols int,
	options FactorizedOptions) (*Factorized[F], error) {
	if err := checkSides(rows, cols); err != nil {
		return nil, err
	}
	sigma := spectrumOptions{radius: options.Radius, center: options.Center, clipped: options.Clip,
		penalty: options.Penalty}
	if err := sigma.check(); err != nil {
		return nil, err
	}
	k := min(rows, cols)
	u, v := arena.Declare("U", rows, k), arena.Declare("V", cols, k)
	for _, factor := range []*View[F]{u, v} {
		factor.Rule, factor.Rate = RuleCayley, options.Rate
	}
	return &Factorized[F]{
		spectrum: newSpectrum(set, arena, k, sigma), polar: polar[F]{kernels: set, gram: later[F](k, k)},
		rows: rows, cols: cols, u: u, v: v, scaled: later[F](rows, k), right: later[F](cols, k),
	}, nil
}

// Shape returns the numbers of rows and columns.
func (f *Factorized[F]) Shape() (rows, cols int) { return f.rows, f.cols }

// Init sets U and V to random matrices with orthonormal columns, or to as much of the
// identity as fits, and σ to σ*.
func (f *Factorized[F]) Init(ctx context.Context, start Start, source *random.Source) error {
	start, err := startOf(start, []Start{StartOrthogonal, StartIdentity})
	if err != nil {
		return err
	}
	for _, factor := range []*View[F]{f.u, f.v} {
		if start == StartIdentity {
			identity(factor.Matrix())
			continue
		}
		if err := SetOrthogonal(ctx, f.set, factor.Matrix(), source); err != nil {
			return err
		}
	}
	f.startSigma(source)
	return nil
}

// Value writes W.
func (f *Factorized[F]) Value(w kernel.Matrix[F]) {
	checkShape(w, f)
	f.loadSigma()
	ready(&f.scaled)
	f.set.MultiplySum(f.scaled, kernel.Sum[F]{H: f.u.Matrix(), D: f.sigma})
	f.set.PackTransposed(&f.packed, f.v.Matrix())
	f.set.Multiply(w, f.scaled, &f.packed)
}

// Pullback adds the gradients of U, V and σ, with G = ∂L/∂W,
//
//	∂L/∂U = G V Σ      ∂L/∂V = Gᵀ U Σ      ∂L/∂σ = diag(Uᵀ G V)
//
// and that of the penalty.
func (f *Factorized[F]) Pullback(dw kernel.Matrix[F]) {
	checkShape(dw, f)
	f.set.Pack(&f.packed, f.v.Matrix())
	f.set.Multiply(f.scaled, dw, &f.packed) // G V
	f.set.ScaleColumnsAdd(f.u.GradientMatrix(), f.sigma, f.scaled)
	clear(f.dsigma)
	f.set.ColumnProductSumsAdd(f.dsigma, f.u.Matrix(), f.scaled)
	f.pullbackSigma()
	ready(&f.right)
	f.set.Transposed(f.right, dw, f.u.Matrix(), nil)
	f.set.ScaleColumnsAdd(f.v.GradientMatrix(), f.sigma, f.right)
}

// Constrain clips σ, if it is a parameter, and moves U and V, which rounding has led off
// the manifold, back onto it.
func (f *Factorized[F]) Constrain(float64) {
	f.constrainSigma()
	ready(&f.scaled, &f.right)
	f.nearest(f.u, f.scaled)
	f.nearest(f.v, f.right)
}

// Project clips σ, if it is a parameter, and moves U and V to the nearest matrices with
// orthonormal columns, their polar factors.
func (f *Factorized[F]) Project() {
	f.constrainSigma()
	ready(&f.scaled, &f.right)
	f.polarise(f.u, f.scaled)
	f.polarise(f.v, f.right)
}

// Flops counts products of matrices, 2 operations an element and column of a factor:
// one in Value, two in Pullback, and in the steps of U and V what three more of each
// factor's rows come to, besides two in Constrain.
func (f *Factorized[F]) Flops() float64 {
	m, n, k := float64(f.rows), float64(f.cols), float64(f.gram.Rows)
	return 6*m*n*k + 6*(m*m+n*n)*k + 4*(m+n)*k*k
}

// Footprint counts U Σ, the matrices of Constrain and the packed factor.
func (f *Factorized[F]) Footprint() int {
	k := f.gram.Rows
	return (f.rows+f.cols+k)*k + max(f.set.PackedSize(k, f.cols, false), f.set.PackedSize(f.cols, k, false),
		f.set.PackedSize(k, k, false))
}
