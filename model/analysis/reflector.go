// Package analysis has the papers' algorithms and theory in plain form, one vector at a time:
// the appendix's algorithms with a count of their floating point operations, which also are
// the reference that the layers are tested against.
//
//	forward, backward, err := analysis.Flops(128, 16, 16, true, true)
//
// It is for measuring and testing, not for training, and imports the standard library only.
package analysis

// Reflectors is the product of Householder reflectors and a diagonal of Algorithm 1 of Zhang,
// Lei, Dhillon (2018), W = H(u_n) … H(u_{n-m1+1}) diag(σ) H(v_{n-m2+1}) … H(v_n), applied to
// one vector in one time step. H(u) acts on the last len(u) coordinates.
type Reflectors struct {
	// U is u_n, u_{n-1}, …, V is v_n, v_{n-1}, …; none of them is 0.
	U, V [][]float64
	// Sigma is the diagonal, and Slope its derivative by σ̂. Both are nil for an orthogonal W.
	Sigma, Slope []float64

	// Backward adds the gradients of U, V and σ̂ to them.
	UGradient, VGradient [][]float64
	HatGradient          []float64

	// Operations counts the additions, subtractions, multiplications and divisions of Forward and
	// Backward, without those that add gradients up over time steps.
	Operations int
	// KeepNorms says that ‖u‖² is computed once for all time steps, and not counted; KeepProducts
	// that Backward uses α of Forward. Else they are computed whenever they are needed.
	KeepNorms, KeepProducts bool

	uKept, vKept []reflection
	beforeSigma  []float64 // what Forward multiplies by σ
}

// reflection is what Forward leaves of one reflector: the vector that it was applied to, and
// α = 2/‖u‖² uᵀh.
type reflection struct {
	h     []float64
	alpha float64
}

// Forward is the forward half of Algorithm 1: it returns W h and keeps what Backward needs.
func (r *Reflectors) Forward(h []float64) []float64 {
	r.uKept, r.vKept = make([]reflection, len(r.U)), make([]reflection, len(r.V))
	for i, v := range r.V {
		r.vKept[i].h = h
		h, r.vKept[i].alpha = r.product(h, v)
	}
	if r.Sigma != nil {
		r.beforeSigma = h
		h = r.times(r.Sigma, h)
	}
	for i := len(r.U) - 1; i >= 0; i-- {
		r.uKept[i].h = h
		h, r.uKept[i].alpha = r.product(h, r.U[i])
	}
	return h
}

// Backward is the backward half of Algorithm 1 after Forward: given the gradient g of W h it
// returns that of h. Where the paper hands Hgrad a reflector's output for U, it is given the
// input, as for V: with the output the sign of α would be wrong.
func (r *Reflectors) Backward(g []float64) []float64 {
	for i, u := range r.U {
		g = r.gradient(r.uKept[i], u, g, r.UGradient[i])
	}
	if r.Sigma != nil {
		for i, d := range r.times(r.Slope, r.times(g, r.beforeSigma)) {
			r.HatGradient[i] += d
		}
		g = r.times(r.Sigma, g)
	}
	for i := len(r.V) - 1; i >= 0; i-- {
		g = r.gradient(r.vKept[i], r.V[i], g, r.VGradient[i])
	}
	return g
}

// product is Algorithm 2, Hprod: H(u) h, and α.
func (r *Reflectors) product(h, u []float64) (out []float64, alpha float64) {
	first := len(h) - len(u)
	alpha = r.multiply(r.factor(u), r.dot(u, h[first:]))
	out = append([]float64(nil), h...)
	for i, x := range u {
		out[first+i] = r.subtract(h[first+i], r.multiply(alpha, x))
	}
	return out, alpha
}

// gradient is Algorithm 3, Hgrad: given the gradient g of H(u) h it returns that of h and
// adds that of u to du.
func (r *Reflectors) gradient(kept reflection, u, g, du []float64) (dh []float64) {
	first := len(g) - len(u)
	factor := r.factor(u)
	alpha := kept.alpha
	if !r.KeepProducts {
		alpha = r.multiply(factor, r.dot(u, kept.h[first:]))
	}
	beta := r.multiply(factor, r.dot(u, g[first:]))
	both := r.multiply(alpha, beta)
	dh = append([]float64(nil), g...)
	for i, x := range u {
		dh[first+i] = r.subtract(g[first+i], r.multiply(beta, x))
		d := r.subtract(r.multiply(both, x), r.multiply(alpha, g[first+i]))
		du[i] += r.subtract(d, r.multiply(beta, kept.h[first+i]))
	}
	return dh
}

// factor is 2/‖u‖².
func (r *Reflectors) factor(u []float64) float64 {
	before := r.Operations
	r.Operations++ // the division
	factor := 2 / r.dot(u, u)
	if r.KeepNorms {
		r.Operations = before
	}
	return factor
}

func (r *Reflectors) dot(a, b []float64) float64 {
	sum := r.multiply(a[0], b[0])
	for i := 1; i < len(a); i++ {
		r.Operations++
		sum += r.multiply(a[i], b[i])
	}
	return sum
}

// times is the product of each entry with each.
func (r *Reflectors) times(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = r.multiply(a[i], b[i])
	}
	return out
}

func (r *Reflectors) multiply(a, b float64) float64 {
	r.Operations++
	return a * b
}

func (r *Reflectors) subtract(a, b float64) float64 {
	r.Operations++
	return a - b
}
