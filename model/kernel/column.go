package kernel

// ColumnSumsAdd is dst[j] += Σ_i a[i][j], the gradient of a bias.
func (s *Set[F]) ColumnSumsAdd(dst []F, a Matrix[F]) {
	checkColumns(&a, dst)
	if a.empty() {
		return
	}
	if l := s.loops; l != nil {
		l.columnSums(single(dst), single(a.Data), float*a.Stride, a.Rows, a.Cols)
		return
	}
	plainColumnSumsAdd(dst, a)
}

// ColumnProductSumsAdd is dst[j] += Σ_i a[i][j]·b[i][j], the gradient of a diagonal.
func (s *Set[F]) ColumnProductSumsAdd(dst []F, a, b Matrix[F]) {
	checkColumns(&a, dst)
	if a.emptyAs(&b) {
		return
	}
	if l := s.loops; l != nil {
		l.columnProductSums(single(dst), single(a.Data), float*a.Stride, single(b.Data), float*b.Stride, a.Rows, a.Cols)
		return
	}
	plainColumnProductSumsAdd(dst, a, b)
}

// ScaleColumnsAdd is dst[i][j] += d[j]·src[i][j], the product with a diagonal.
func (s *Set[F]) ScaleColumnsAdd(dst Matrix[F], d []F, src Matrix[F]) {
	checkColumns(&dst, d)
	if dst.emptyAs(&src) {
		return
	}
	if l := s.loops; l != nil {
		l.scaleColumnsAdd(single(dst.Data), float*dst.Stride, single(src.Data), float*src.Stride, single(d),
			dst.Rows, dst.Cols)
		return
	}
	plainScaleColumnsAdd(dst, d, src)
}

func plainColumnSumsAdd[F Float](dst []F, a Matrix[F]) {
	for i := range a.Rows {
		plainAxpy(dst, 1, a.Row(i))
	}
}

func plainColumnProductSumsAdd[F Float](dst []F, a, b Matrix[F]) {
	for i := range a.Rows {
		x, y := a.Row(i)[:len(dst)], b.Row(i)[:len(dst)]
		for j := range dst {
			dst[j] += x[j] * y[j]
		}
	}
}

func plainScaleColumnsAdd[F Float](dst Matrix[F], d []F, src Matrix[F]) {
	for i := range dst.Rows {
		to, from := dst.Row(i)[:len(d)], src.Row(i)[:len(d)]
		for j, x := range d {
			to[j] += x * from[j]
		}
	}
}
