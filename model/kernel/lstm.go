package kernel

// LSTMForward is time steps of an LSTM over so many rows, a series in each. gates,
// cells and states hold blocks of rows: c and h before the first step and then those
// after each, and the gates of each, in column blocks of n in the order input i,
// forget f, candidate g, output o. What no later pass reads may be a single block, which
// every step overwrites. x are the inputs of the steps, m the input's weight, packed
// with the bias, and w the state's:
//
//	i, f, g, o = gates[t] = 1·biasᵀ + x[t]·M + states[t]·W
//	i = σ(i)  f = σ(f)  g = tanh(g)  o = σ(o)
//	cells[t+1] = f∘cells[t] + i∘g   states[t+1] = o∘tanh(cells[t+1])
func (s *Set[F]) LSTMForward(gates, cells, states Matrix[F], rows int, w *Packed[F], x Matrix[F], m *Packed[F]) {
	checkBlocks(&x, rows)
	if x.Rows == 0 || cells.Cols == 0 {
		return
	}
	checkStep(&gates, rows, x.Rows, 4*cells.Cols)
	checkStep(&cells, rows, x.Rows+rows, cells.Cols)
	checkStep(&states, rows, x.Rows+rows, cells.Cols)
	gate, state, input := gates.Slice(0, rows), states.Slice(0, rows), x.Slice(0, rows)
	s.checkFactors(&gate, &state, w, false)
	s.checkFactors(&gate, &input, m, true)
	s.backend.lstmForward(gates, cells, states, rows, w, x, m)
}

// LSTMBackward is the backward pass of LSTMForward, given all of its blocks.
// dh and dc are ∂L/∂h and ∂L/∂c after the last step and become those before the
// first, w is Wᵀ packed, and deltas, which may be the same view as gates, are set to
// the gradients of the gates' arguments:
//
//	h = states[t+1]   dc += dh∘o∘(1−(h/o)²)
//	δo = dh∘h∘(1−o)   δi = dc∘g∘i∘(1−i)   δf = dc∘cells[t]∘f∘(1−f)   δg = dc∘i∘(1−g²)
//	dc = dc∘f   dh = δ·Wᵀ
//
// During each step it prefetches what the one before needs, and during the first the
// memory given, in two parts.
func (s *Set[F]) LSTMBackward(deltas, gates, cells, states Matrix[F], rows int, w *Packed[F], dh, dc Matrix[F],
	prefetch, then []F) {
	checkBlocks(&gates, rows)
	if gates.Rows == 0 || dc.Cols == 0 {
		return
	}
	gates.checkShape(gates.Rows, 4*dc.Cols)
	deltas.checkShape(gates.Rows, 4*dc.Cols)
	cells.checkShape(gates.Rows+rows, dc.Cols)
	states.checkShape(gates.Rows+rows, dc.Cols)
	dc.checkShape(rows, dc.Cols)
	delta := deltas.Slice(0, rows)
	s.checkFactors(&dh, &delta, w, false)
	s.backend.lstmBackward(deltas, gates, cells, states, rows, w, dh, dc, prefetch, then)
}

// checkStep panics unless the matrix has so many rows in blocks, or is one block.
func checkStep[F Float](m *Matrix[F], block, rows, cols int) {
	if m.Rows == block {
		rows = block
	}
	m.checkShape(rows, cols)
}

// stepBlock is block t, or the only one.
func stepBlock[F Float](m Matrix[F], rows, t int) Matrix[F] {
	if m.Rows == rows {
		t = 0
	}
	return m.Slice(t*rows, (t+1)*rows)
}

func (p plain[F]) lstmForward(gates, cells, states Matrix[F], rows int, w *Packed[F], x Matrix[F], m *Packed[F]) {
	for t := range x.Rows / rows {
		gate, state := stepBlock(gates, rows, t), stepBlock(states, rows, t)
		p.multiply(gate, Sum[F]{X: x.Slice(t*rows, (t+1)*rows), M: m, A: state, B: w}, stage[F]{})
		plainLSTMGates(gate, stepBlock(cells, rows, t), stepBlock(cells, rows, t+1), stepBlock(states, rows, t+1))
	}
}

func (p plain[F]) lstmBackward(deltas, gates, cells, states Matrix[F], rows int, w *Packed[F],
	dh, dc Matrix[F], _, _ []F) {
	for t := gates.Rows/rows - 1; t >= 0; t-- {
		delta := stepBlock(deltas, rows, t)
		plainLSTMGatesBackward(delta, stepBlock(gates, rows, t), stepBlock(cells, rows, t),
			stepBlock(states, rows, t+1), dh, dc)
		p.multiply(dh, Sum[F]{A: delta, B: w}, stage[F]{})
	}
}

func plainLSTMGates[F Float](gates, cPrev, c, h Matrix[F]) {
	n := c.Cols
	for row := range c.Rows {
		gate := gates.Row(row)
		i, f, g, o := gate[:n], gate[n:2*n], gate[2*n:3*n], gate[3*n:4*n]
		before, after, hidden := cPrev.Row(row), c.Row(row), h.Row(row)
		for j := range n {
			i[j], f[j], g[j], o[j] = sigmoid(i[j]), sigmoid(f[j]), tanh(g[j]), sigmoid(o[j])
			after[j] = f[j]*before[j] + i[j]*g[j]
			hidden[j] = o[j] * tanh(after[j])
		}
	}
}

func plainLSTMGatesBackward[F Float](deltas, gates, cPrev, h, dh, dc Matrix[F]) {
	n := dc.Cols
	for row := range dc.Rows {
		gate := gates.Row(row)
		i, f, g, o := gate[:n], gate[n:2*n], gate[2*n:3*n], gate[3*n:4*n]
		delta := deltas.Row(row)
		di, df, dg, do := delta[:n], delta[n:2*n], delta[2*n:3*n], delta[3*n:4*n]
		before, hidden, dHidden, dCell := cPrev.Row(row), h.Row(row), dh.Row(row), dc.Row(row)
		for j := range n {
			ij, fj, gj, oj, hj, d := i[j], f[j], g[j], o[j], hidden[j], dHidden[j]
			tj := F(0) // of a closed gate, whatever it is
			if oj != 0 {
				tj = hj / oj
			}
			dcj := dCell[j] + d*oj*(1-tj*tj)
			do[j] = d * hj * (1 - oj)
			di[j] = dcj * gj * ij * (1 - ij)
			df[j] = dcj * before[j] * fj * (1 - fj)
			dg[j] = dcj * ij * (1 - gj*gj)
			dCell[j] = dcj * fj
		}
		plainFlush(delta)
		plainFlush(dCell)
	}
}
