package kernel

// The elementwise parts of one GRU time step (Cho et al. 2014), with the reset
// gate acting on the state before the recurrent product:
//
//	z = σ(U_z x + W_z hPrev + b_z)   r = σ(U_r x + W_r hPrev + b_r)
//	cand = tanh(U_h x + W_h (r∘hPrev) + b_h)
//	h = (1−z)∘hPrev + z∘cand
//
// With the input projections of the step, zr [B×2n] (z in columns 0..n, r in
// n..2n) and cand [B×n], made by MultiplySum, a step forward is
//
//	MultiplyAdd(zr, hPrev, W_zrᵀ)
//	GRUGates(zr, hPrev, rh)
//	MultiplyAdd(cand, rh, W_hᵀ)
//	GRUBlend(zr, cand, hPrev, h)
//
// and the step back, with dh = ∂L/∂h in and ∂L/∂hPrev out,
//
//	GRUBlendBackward(zr, cand, hPrev, dh)
//	Multiply(drh, cand, W_h)
//	GRUGatesBackward(zr, hPrev, drh, dh)
//	MultiplyAdd(dh, zr, W_zr)
//
// after which zr and cand hold the deltas of their pre-activations and drh holds
// r∘hPrev again, so that the gradients are
//
//	TransposedAdd(dW_zrᵀ, hPrev, zr)   TransposedAdd(dW_hᵀ, drh, cand)
//	TransposedAdd(dU_zrᵀ, x, zr)       TransposedAdd(dU_hᵀ, x, cand)
//
// for this step, or once for all steps if zr, cand and drh are stored for each.
// rh need not be stored: backward computes it again.

// GRUGates is z = σ(z), r = σ(r), rh = r∘hPrev. gates [B×2n] holds the
// pre-activations in column blocks z, r and is overwritten with the gates; hPrev
// and rh are B×n.
func (s *Set[F]) GRUGates(gates, hPrev, rh Matrix[F]) {
	gates.checkShape(rh.Rows, 2*rh.Cols)
	if rh.emptyAs(&hPrev) {
		return
	}
	if l := s.loops; l != nil {
		l.gruGates(single(gates.Data), float*gates.Stride, single(hPrev.Data), float*hPrev.Stride, single(rh.Data),
			float*rh.Stride, rh.Rows, rh.Cols)
		return
	}
	plainGRUGates(gates, hPrev, rh)
}

// GRUBlend is cand = tanh(cand), h = hPrev + z∘(cand − hPrev). gates [B×2n] holds
// the gates z, r; cand [B×n] the pre-activations of the candidate, overwritten
// with the candidate. h may be the same view as hPrev.
func (s *Set[F]) GRUBlend(gates, cand, hPrev, h Matrix[F]) {
	gates.checkShape(h.Rows, 2*h.Cols)
	if h.emptyAs(&cand, &hPrev) {
		return
	}
	if l := s.loops; l != nil {
		l.gruBlend(single(gates.Data), float*gates.Stride, single(cand.Data), float*cand.Stride,
			single(hPrev.Data), float*hPrev.Stride, single(h.Data), float*h.Stride, h.Rows, h.Cols)
		return
	}
	plainGRUBlend(gates, cand, hPrev, h)
}

// GRUBlendBackward is the backward pass of GRUBlend, given dh = ∂L/∂h:
//
//	δcand = dh∘z∘(1−cand²)   δz = dh∘(cand−hPrev)∘z∘(1−z)   dh = dh∘(1−z)
//
// δcand overwrites cand, δz the first block of gates; the second block, r, stays.
// dh is left as the part of ∂L/∂hPrev that came by the blend.
func (s *Set[F]) GRUBlendBackward(gates, cand, hPrev, dh Matrix[F]) {
	gates.checkShape(dh.Rows, 2*dh.Cols)
	if dh.emptyAs(&cand, &hPrev) {
		return
	}
	if l := s.loops; l != nil {
		l.gruBlendBackward(single(gates.Data), float*gates.Stride, single(cand.Data), float*cand.Stride,
			single(hPrev.Data), float*hPrev.Stride, single(dh.Data), float*dh.Stride, dh.Rows, dh.Cols)
		return
	}
	plainGRUBlendBackward(gates, cand, hPrev, dh)
}

// GRUGatesBackward is the backward pass of rh = r∘hPrev and r = σ(·), given
// drh = ∂L/∂rh:
//
//	δr = drh∘hPrev∘r∘(1−r)   dh += drh∘r   drh = r∘hPrev
//
// δr overwrites the second block of gates, rh overwrites drh.
func (s *Set[F]) GRUGatesBackward(gates, hPrev, drh, dh Matrix[F]) {
	gates.checkShape(dh.Rows, 2*dh.Cols)
	if dh.emptyAs(&hPrev, &drh) {
		return
	}
	if l := s.loops; l != nil {
		l.gruGatesBackward(single(gates.Data), float*gates.Stride, single(hPrev.Data), float*hPrev.Stride,
			single(drh.Data), float*drh.Stride, single(dh.Data), float*dh.Stride, dh.Rows, dh.Cols)
		return
	}
	plainGRUGatesBackward(gates, hPrev, drh, dh)
}

func plainGRUGates[F Float](gates, hPrev, rh Matrix[F]) {
	n := rh.Cols
	for row := range rh.Rows {
		gate, before, product := gates.Row(row), hPrev.Row(row), rh.Row(row)
		z, r := gate[:n], gate[n:2*n]
		for j := range n {
			z[j], r[j] = sigmoid(z[j]), sigmoid(r[j])
			product[j] = r[j] * before[j]
		}
	}
}

func plainGRUBlend[F Float](gates, cand, hPrev, h Matrix[F]) {
	for row := range h.Rows {
		z, candidate, before, after := gates.Row(row), cand.Row(row), hPrev.Row(row), h.Row(row)
		for j := range after {
			candidate[j] = tanh(candidate[j])
			after[j] = before[j] + z[j]*(candidate[j]-before[j])
		}
	}
}

func plainGRUBlendBackward[F Float](gates, cand, hPrev, dh Matrix[F]) {
	for row := range dh.Rows {
		z, candidate, before, d := gates.Row(row), cand.Row(row), hPrev.Row(row), dh.Row(row)
		for j, dj := range d {
			zj, cj := z[j], candidate[j]
			candidate[j] = dj * zj * (1 - cj*cj)
			z[j] = dj * (cj - before[j]) * zj * (1 - zj)
			d[j] = dj * (1 - zj)
		}
		plainFlush(candidate)
		plainFlush(z[:len(d)])
		plainFlush(d)
	}
}

func plainGRUGatesBackward[F Float](gates, hPrev, drh, dh Matrix[F]) {
	n := dh.Cols
	for row := range dh.Rows {
		r, before, product, d := gates.Row(row)[n:2*n], hPrev.Row(row), drh.Row(row), dh.Row(row)
		for j, dj := range product {
			rj, hj := r[j], before[j]
			r[j] = dj * hj * rj * (1 - rj)
			d[j] += dj * rj
			product[j] = rj * hj
		}
		plainFlush(r)
		plainFlush(d)
	}
}
