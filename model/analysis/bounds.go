package analysis

import "math"

// Norms are those of a matrix.
type Norms struct{ Spectral, Frobenius float64 }

// Recurrent is what the bounds of Zhang, Lei, Dhillon (2018), section 6, need of a trained network
// h(t) = φ(W h(t-1) + M x(t)), h(0) = 0, y = Y h(T).
type Recurrent struct {
	W, M, Y Norms
	Steps   int     // T
	Width   int     // h, the largest of n, n_i and n_y
	Input   float64 // B, the largest norm of an x(t)
}

// Complexity is G(w) of theorem 5 at a margin γ.
func (r *Recurrent) Complexity(margin float64) float64 { return r.complexity(r.W.Spectral, margin) }

// Capped is G(w) of corollary 1, with 1 + r in place of the norm of W.
func (r *Recurrent) Capped(radius, margin float64) float64 { return r.complexity(1+radius, margin) }

func (r *Recurrent) complexity(spectral, margin float64) float64 {
	h, beta := float64(r.Width), r.product(spectral)
	scale := r.Input * math.Pow(float64(r.Steps), 2) * beta / margin
	return scale * scale * h * math.Log(h) * r.squares()
}

// product is β of the proof of theorem 5.
func (r *Recurrent) product(spectral float64) float64 {
	return math.Max(math.Pow(spectral, float64(r.Steps-1)), 1) * math.Max(r.M.Spectral, 1) *
		math.Max(r.Y.Spectral, 1)
}

// squares is ‖w‖².
func (r *Recurrent) squares() float64 {
	return r.W.Frobenius*r.W.Frobenius + r.M.Frobenius*r.M.Frobenius + r.Y.Frobenius*r.Y.Frobenius
}

// Gap is what the proof of theorem 5 says with all constants: with probability 1 - δ over so many
// training rows, the expected error is at most the margin loss on them and
//
//	4 √((‖w‖² / 2σ² + ln(6m/δ')) / (m - 1))
//
// where σ = γ / (12 √(2h ln 12h) T B (Te + e + 1) eβ), the largest β̃ that the proof allows for β, and
// δ' = eδ/√m for the union over the β̃.
func (r *Recurrent) Gap(margin, delta float64, rows int) float64 {
	m, h, T := float64(rows), float64(r.Width), float64(r.Steps)
	sigma := margin / (12 * math.Sqrt(2*h*math.Log(12*h)) * T * r.Input * (T*math.E + math.E + 1) * math.E *
		r.product(r.W.Spectral))
	return 4 * math.Sqrt((r.squares()/(2*sigma*sigma)+math.Log(6*m*math.Sqrt(m)/(math.E*delta)))/(m-1))
}

// FeedForward is what the bound of Neyshabur et al. (2017), as the slides have it, needs of a network
// of layers of ReLU.
type FeedForward struct {
	Layers []Norms
	Width  int     // h, the most outputs of a layer
	Input  float64 // B
}

// Lipschitz is the product of the spectral norms.
func (f *FeedForward) Lipschitz() float64 {
	product := 1.0
	for _, l := range f.Layers {
		product *= l.Spectral
	}
	return product
}

// Complexity is B(w) of that bound at a margin γ.
func (f *FeedForward) Complexity(margin float64) float64 {
	d, h, sum := float64(len(f.Layers)), float64(f.Width), 0.0
	for _, l := range f.Layers {
		sum += l.Frobenius * l.Frobenius / (l.Spectral * l.Spectral)
	}
	scale := f.Input * d * f.Lipschitz() / margin
	return scale * scale * h * math.Log(d*h) * sum
}

// Term is √((G + ln(m/δ)) / m), of which theorem 5 and the bound of [FeedForward] are a constant multiple;
// there is ln(dm/δ) for d layers, 1 for a recurrent network.
func Term(complexity, delta float64, rows, layers int) float64 {
	m := float64(rows)
	return math.Sqrt((complexity + math.Log(float64(layers)*m/delta)) / m)
}

// Gated is what the SGORNN paper's bounds need of a scalar gated network with one output
// v·h(T), h(0) = 0.
type Gated struct {
	Alpha, Beta float64
	Steps       int     // T
	Input       float64 // R_x, the largest norm of an x_t
	Weights     float64 // R_W, the Frobenius norm of W, b included
	Output      float64 // R_v
	U           Norms
}

// Constant is C = R_x R_W R_v.
func (g *Gated) Constant() float64 { return g.Input * g.Weights * g.Output }

// Term is 4 C αT / √m, of theorem 1.
func (g *Gated) Term(rows int) float64 {
	return 4 * g.Constant() * g.Alpha * float64(g.Steps) / math.Sqrt(float64(rows))
}

// Gap is theorem 1: how far the expected loss, which is between 0 and most, may be above the mean loss
// on so many training rows with probability 1 - δ.
func (g *Gated) Gap(most, delta float64, rows int) float64 {
	return g.Term(rows) + 3*most*math.Sqrt(math.Log(2/delta)/float64(rows))
}

// Gradients is theorem 2 with corollary 1, for ReLU and the rotations of VPRNN: the largest entries that ∂L/∂Θ and
// ∂L/∂W may have, of a loss that changes by no more than the output, and so many units.
func (g *Gated) Gradients(units int) (theta, weights float64) {
	h, steps := float64(units), g.Alpha*float64(g.Steps)
	return g.Constant() * 4 * math.Pow(h, 1.5) * math.Log2(h) * steps * steps,
		g.Input * g.Output * steps * math.Sqrt(h)
}

// MaxAlpha is the largest α that equation 4 of the paper, FastRNN's condition, allows, with 𝒟 = 1 for an
// activation of slope 1.
func (g *Gated) MaxAlpha() float64 {
	T, off := float64(g.Steps), math.Abs(g.U.Spectral-1)
	return min(1/(4*T*off), 1/(4*T*g.U.Frobenius), 1/(T*off))
}

// MarginLoss is definition 1 on a sample: the share of rows whose margin, the output of their class less the
// largest other one, is at most γ.
func MarginLoss(margins []float64, margin float64) float64 {
	count := 0
	for _, m := range margins {
		if !(m > margin) {
			count++
		}
	}
	return float64(count) / float64(len(margins))
}
