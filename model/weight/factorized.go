package weight

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

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
	rows, cols int
	u, v       *View[F]
	scaled     kernel.Matrix[F] // U Σ of the last call of Value; scratch of Pullback
	right      kernel.Matrix[F] // cols × k
	gram       kernel.Matrix[F] // k × k
	packed     kernel.Packed[F]
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
		spectrum: newSpectrum(set, arena, k, sigma), rows: rows, cols: cols, u: u, v: v,
		scaled: later[F](rows, k), right: later[F](cols, k), gram: later[F](k, k),
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
// the manifold, onto it by a step of Newton's method (Björck and Bowie 1971):
//
//	U ← U (3 I - UᵀU) / 2
func (f *Factorized[F]) Constrain(float64) {
	f.constrainSigma()
	ready(&f.scaled, &f.right)
	f.loadGram(f.u)
	f.orthonormalise(f.u, f.scaled)
	f.loadGram(f.v)
	f.orthonormalise(f.v, f.right)
}

// loadGram computes UᵀU.
func (f *Factorized[F]) loadGram(factor *View[F]) {
	u := factor.Matrix()
	ready(&f.gram)
	f.set.Transposed(f.gram, u, u, nil)
}

// orthonormalise does the step, given UᵀU; work is of the shape of the factor.
func (f *Factorized[F]) orthonormalise(factor *View[F], work kernel.Matrix[F]) {
	u := factor.Matrix()
	f.set.Scale(f.gram.Data, -.5)
	for i := range f.gram.Rows {
		f.gram.Data[i*f.gram.Stride+i] += 1.5
	}
	f.set.Pack(&f.packed, f.gram)
	f.set.Multiply(work, u, &f.packed)
	copy(u.Data, work.Data)
}

// Project clips σ, if it is a parameter, and moves U and V to the nearest matrices with
// orthonormal columns, their polar factors.
func (f *Factorized[F]) Project() {
	f.constrainSigma()
	ready(&f.scaled, &f.right)
	f.polarise(f.u, f.scaled)
	f.polarise(f.v, f.right)
}

// polarSteps bounds the steps of Newton's method. From singular values below 1 each
// makes the smallest larger by half, and once they are near 1 squares what is missing.
const polarSteps = 40

// polarise makes of a factor its polar factor, by steps of [Factorized.Constrain]; where
// these do not get there, as from columns that depend on each other, by a decomposition,
// which completes the others. work is of the shape of the factor.
func (f *Factorized[F]) polarise(factor *View[F], work kernel.Matrix[F]) {
	const near = 1e-3 // from there one step goes to rounding
	for range polarSteps {
		f.loadGram(factor)
		// The steps converge where UᵀU has no eigenvalue of 3 or more; of means of
		// orthonormal columns it has none above 1.
		most := 0.0
		for i := range f.gram.Rows {
			sum := 0.0
			for _, x := range f.gram.Row(i) {
				sum += math.Abs(float64(x))
			}
			most = max(most, sum)
		}
		if !(most < math.MaxFloat32) {
			return // not finite
		}
		if most >= 3 {
			f.set.Scale(factor.Value, F(1/math.Sqrt(most)))
			continue
		}
		away := f.fromIdentity()
		f.orthonormalise(factor, work)
		if away < near {
			return
		}
	}
	u := double(factor.Matrix())
	var svd mat.SVD
	if !svd.Factorize(u, mat.SVDThin) {
		return
	}
	var left, right mat.Dense
	svd.UTo(&left)
	svd.VTo(&right)
	u.Mul(&left, right.T())
	round(factor.Matrix(), u)
}

// fromIdentity is the Frobenius norm of UᵀU - I.
func (f *Factorized[F]) fromIdentity() float64 {
	sum := 0.0
	for i := range f.gram.Rows {
		for j, x := range f.gram.Row(i) {
			d := float64(x)
			if i == j {
				d--
			}
			sum += d * d
		}
	}
	return math.Sqrt(sum)
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
