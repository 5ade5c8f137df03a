package layer

import (
	"context"
	"fmt"
	"math"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// GatedSpectral is the simple recurrent cell whose singular values are gated, Gated Spectral-RNN
// (slides of Zhang, Lei and Dhillon 2018, "Singular Value Gating"):
//
//	g(t) = sigmoid(W_g h(t-1) + U_g x(t) + b_g)
//	h(t) = φ(U (σ ∘ g(t) ∘ Vᵀ h(t-1)) + M x(t) + b)
//
// With gates at 1 it is [Elman] with the matrix U Σ Vᵀ. That matrix is never formed, since it
// changes with every step: U and Vᵀ are applied by their compact forms, of rank m1 and m2.
type GatedSpectral[F kernel.Float] struct {
	recurrent[F]
	matrix  *weight.SVD[F]
	options GatedSpectralOptions
	phi     phi[F]
	input   projection[F] // M [n_i × n] and b
	gate    gates[F]
	gated   []*gatedSpectralPass[F]

	// At the last Load: what states in rows are multiplied by, Q = H + (H Lᵥ) Rᵥᵀ and so on.
	sides weight.Sides[F]
	u, v  packedSide[F]
}

// packedSide is the factors of an orthogonal matrix and their transposes.
type packedSide[F kernel.Float] struct{ left, right, leftT, rightT kernel.Packed[F] }

func (p *packedSide[F]) load(set *kernel.Set[F], s weight.Side[F]) {
	set.Pack(&p.left, s.Left)
	set.Pack(&p.right, s.Right)
	set.PackTransposed(&p.leftT, s.Left)
	set.PackTransposed(&p.rightT, s.Right)
}

func packedSideSize[F kernel.Float](set *kernel.Set[F], n, m int) int {
	return 2 * (set.PackedSize(n, m, false) + set.PackedSize(m, n, false))
}

// GatedSpectralOptions are the choices of a [GatedSpectral] cell.
type GatedSpectralOptions struct {
	CellOptions
	Activation kernel.Activation // φ
	Slope      float64           // of a leaky ReLU below 0, from 0 to 1
	Start      weight.Start      // of U and V; "" is the matrix's usual one
	GateBias   float64           // the start of b_g
}

// NewGatedSpectral declares the tensors "M" [n_i × n], "b", "U_g" [n_i × n], "W_g" [n × n] (that
// is, transposed), "b_g" and "h0". The matrix, a square [weight.SVD], has declared its own.
func NewGatedSpectral[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], matrix weight.Matrix[F],
	options GatedSpectralOptions) (*GatedSpectral[F], error) {
	svd, ok := matrix.(*weight.SVD[F])
	if !ok {
		return nil, fmt.Errorf("layer: gated singular values of a %T: want an SVD", matrix)
	}
	n, cols := svd.Shape()
	if n != cols {
		return nil, fmt.Errorf("layer: recurrent matrix of %d × %d: want a square one", n, cols)
	}
	if err := checkActivation(options.Activation, options.Slope); err != nil {
		return nil, err
	}
	base, err := newRecurrent(set, options.CellOptions, n, 4, 1)
	if err != nil {
		return nil, err
	}
	g := &GatedSpectral[F]{recurrent: base, matrix: svd, options: options,
		phi: phi[F]{options.Activation, F(options.Slope)}}
	g.input = g.declareProjection(arena, "M", "b", n)
	g.gate = g.declareGates(arena, "_g", n)
	g.declareInitial(arena, "h0")
	return g, nil
}

// Init sets the matrix to its start, M and U_g to N(0, s²/n_i), W_g to N(0, 1/n), b_g to its
// start, the rest to 0.
func (g *GatedSpectral[F]) Init(ctx context.Context, source *random.Source) error {
	if err := g.matrix.Init(ctx, g.options.Start, source); err != nil {
		return err
	}
	g.initProjection(&g.input, source)
	if err := g.initGates(ctx, weight.StartGaussian, 1, source, &g.gate); err != nil {
		return err
	}
	for i := range g.gate.b.Value {
		g.gate.b.Value[i] = F(g.options.GateBias)
	}
	g.clearInitial()
	return nil
}

// Load computes both sides of the matrix and packs all weights.
func (g *GatedSpectral[F]) Load() {
	if g.sides.Sigma == nil {
		m1, m2 := g.matrix.Reflectors()
		g.sides = weight.NewSides[F](g.size, m1, m2)
	}
	g.matrix.Sides(g.sides)
	g.u.load(g.set, g.sides.U)
	g.v.load(g.set, g.sides.V)
	g.input.load(g.set)
	g.gate.load(g.set)
}

// Join adds the gradients of the first passes.
func (g *GatedSpectral[F]) Join(used int) {
	g.recurrent.Join(used)
	sum := g.gated[0].gradient
	for _, p := range g.gated[1:used] {
		g.set.Axpy(sum.Sigma, 1, p.gradient.Sigma)
		for _, pair := range [][2]weight.Side[F]{{sum.U, p.gradient.U}, {sum.V, p.gradient.V}} {
			add(g.set, pair[0].Left, pair[1].Left)
			add(g.set, pair[0].Right, pair[1].Right)
		}
	}
	g.matrix.PullbackSides(sum)
}

// Constrain scales the reflectors and clips what is to be clipped, see [weight.SVD].
func (g *GatedSpectral[F]) Constrain(rate float64) { g.matrix.Constrain(rate) }

// SpectralMargin returns max |σ_i - 1|, what the transition matrix has with gates at 1.
func (g *GatedSpectral[F]) SpectralMargin(ctx context.Context) (margin float64, err error) {
	for _, sigma := range g.sides.Sigma {
		if away := math.Abs(float64(sigma) - 1); !(away <= margin) {
			margin = away // a NaN stays: nothing is larger
		}
	}
	return margin, ctx.Err()
}

// Cost counts the factors of both sides, W_g and the inputs of state and gate.
func (g *GatedSpectral[F]) Cost(limits Limits) Cost {
	n := g.size
	m1, m2 := g.matrix.Reflectors()
	c, u := g.cost(limits, 2, 3*n)
	c.Weights = c.Inputs + float64(limits.Steps)*float64(n)*float64(n+2*(m1+m2))
	c.Minibatch = g.matrix.Flops()
	g.addProjection(&c, n)
	g.addGates(&c, n)
	sides := int64(weight.SidesSize(n, m1, m2))
	c.Shared += sides + int64(packedSideSize(g.set, n, m1)+packedSideSize(g.set, n, m2)+g.matrix.SidesFootprint())
	rows, chunk := u.retained, u.chunkRows()
	c.Pass += sides + int64(kernel.PaddedSize(2*rows+4*chunk+3*limits.Batch, n)+
		kernel.PaddedSize(chunk+limits.Batch, m1)+kernel.PaddedSize(chunk, m1)+
		kernel.PaddedSize(chunk+limits.Batch, m2)+kernel.PaddedSize(chunk, m2))
	return c
}
