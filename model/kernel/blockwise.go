package kernel

// The loops of a softmax whose rows are too wide to be worked on at once: each takes a
// block of columns while it is in the cache, and what is left of a row is a number or two.

// RowMaxima is m[i] = max(m[i], max_j a[i][j]).
func (s *Set[F]) RowMaxima(m []F, a Matrix[F]) {
	checkRows(&a, m)
	if a.empty() {
		return
	}
	if l := s.loops; l != nil {
		l.rowMaxima(single(m), single(a.Data), float*a.Stride, a.Rows, a.Cols)
		return
	}
	plainRowMaxima(m, a)
}

// ExpSums is a[i][j] = exp(a[i][j] − m[i]), sums[i] += Σ_j a[i][j].
func (s *Set[F]) ExpSums(sums []F, a Matrix[F], m []F) {
	checkRows(&a, m, sums)
	if a.empty() {
		return
	}
	if l := s.loops; l != nil {
		l.expSums(single(sums), single(a.Data), float*a.Stride, single(m), a.Rows, a.Cols)
		return
	}
	plainExpSums(sums, a, m)
}

// RowWeightedSumsAdd is dst[j] += Σ_i d[i]·a[i][j].
func (s *Set[F]) RowWeightedSumsAdd(dst []F, a Matrix[F], d []F) {
	checkColumns(&a, dst)
	checkRows(&a, d)
	if a.empty() {
		return
	}
	if l := s.loops; l != nil {
		l.rowWeightedSums(single(dst), single(a.Data), float*a.Stride, single(d), a.Rows, a.Cols)
		return
	}
	plainRowWeightedSums(dst, a, d)
}

func plainRowMaxima[F Float](m []F, a Matrix[F]) {
	for i, largest := range m {
		for _, x := range a.Row(i) {
			if x > largest {
				largest = x
			}
		}
		m[i] = largest
	}
}

func plainExpSums[F Float](sums []F, a Matrix[F], m []F) {
	for i, largest := range m {
		row, sum := a.Row(i), F(0)
		for j, x := range row {
			row[j] = exp(x - largest)
			sum += row[j]
		}
		sums[i] += sum
	}
}

func plainRowWeightedSums[F Float](dst []F, a Matrix[F], d []F) {
	for i, weight := range d {
		for j, x := range a.Row(i)[:len(dst)] {
			dst[j] += weight * x
		}
	}
}
