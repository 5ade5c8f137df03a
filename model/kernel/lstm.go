package kernel

// LSTMForward is the elementwise part of one LSTM time step over a batch of B.
// gates [B×4n] holds the pre-activations in column blocks of n in the order input
// i, forget f, candidate g, output o, and is overwritten with the activated gates:
//
//	i = σ(·)  f = σ(·)  g = tanh(·)  o = σ(·)
//	c = f∘cPrev + i∘g   tanhC = tanh(c)   h = o∘tanhC
//
// The other operands are B×n. c may be the same view as cPrev.
func (s *Set[F]) LSTMForward(gates, cPrev, c, tanhC, h Matrix[F]) {
	c.check()
	gates.checkShape(c.Rows, 4*c.Cols)
	cPrev.checkShape(c.Rows, c.Cols)
	tanhC.checkShape(c.Rows, c.Cols)
	h.checkShape(c.Rows, c.Cols)
	if c.empty() {
		return
	}
	s.lstmForward(gates, cPrev, c, tanhC, h)
}

// LSTMBackward is the way back through LSTMForward. gates, cPrev and tanhC are as
// it left them, dh is ∂L/∂h of this step. dc is ∂L/∂c of this step as far as later
// steps make it (0 at the last one), and is overwritten with ∂L/∂cPrev. gates is
// overwritten with the gradients of the pre-activations:
//
//	dc += dh∘o∘(1−tanhC²)
//	δo = dh∘tanhC∘o∘(1−o)   δi = dc∘g∘i∘(1−i)   δf = dc∘cPrev∘f∘(1−f)   δg = dc∘i∘(1−g²)
//	dc = dc∘f
func (s *Set[F]) LSTMBackward(gates, cPrev, tanhC, dh, dc Matrix[F]) {
	dc.check()
	gates.checkShape(dc.Rows, 4*dc.Cols)
	cPrev.checkShape(dc.Rows, dc.Cols)
	tanhC.checkShape(dc.Rows, dc.Cols)
	dh.checkShape(dc.Rows, dc.Cols)
	if dc.empty() {
		return
	}
	s.lstmBackward(gates, cPrev, tanhC, dh, dc)
}

func plainLSTMForward[F Float](gates, cPrev, c, tanhC, h Matrix[F]) {
	n := c.Cols
	for row := range c.Rows {
		gate := gates.Row(row)
		i, f, g, o := gate[:n], gate[n:2*n], gate[2*n:3*n], gate[3*n:4*n]
		before, after, t, hidden := cPrev.Row(row), c.Row(row), tanhC.Row(row), h.Row(row)
		for j := range n {
			i[j], f[j], g[j], o[j] = sigmoid(i[j]), sigmoid(f[j]), tanh(g[j]), sigmoid(o[j])
			after[j] = f[j]*before[j] + i[j]*g[j]
			t[j] = tanh(after[j])
			hidden[j] = o[j] * t[j]
		}
	}
}

func plainLSTMBackward[F Float](gates, cPrev, tanhC, dh, dc Matrix[F]) {
	n := dc.Cols
	for row := range dc.Rows {
		gate := gates.Row(row)
		i, f, g, o := gate[:n], gate[n:2*n], gate[2*n:3*n], gate[3*n:4*n]
		before, t, dHidden, dCell := cPrev.Row(row), tanhC.Row(row), dh.Row(row), dc.Row(row)
		for j := range n {
			ij, fj, gj, oj, tj, d := i[j], f[j], g[j], o[j], t[j], dHidden[j]
			dcj := dCell[j] + d*oj*(1-tj*tj)
			o[j] = d * tj * oj * (1 - oj)
			i[j] = dcj * gj * ij * (1 - ij)
			f[j] = dcj * before[j] * fj * (1 - fj)
			g[j] = dcj * ij * (1 - gj*gj)
			dCell[j] = dcj * fj
		}
		plainFlush(gate)
		plainFlush(dCell)
	}
}
