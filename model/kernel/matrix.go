package kernel

// Matrix is a row-major view: element (i, j) is Data[i*Stride+j].
type Matrix[F Float] struct {
	Data               []F
	Rows, Cols, Stride int
}

// Dense is the view of data as rows×cols without gaps.
func Dense[F Float](data []F, rows, cols int) Matrix[F] {
	m := Matrix[F]{Data: data, Rows: rows, Cols: cols, Stride: cols}
	m.check()
	return m
}

// Row is row i, without the gap after it.
func (m *Matrix[F]) Row(i int) []F {
	return m.Data[i*m.Stride : i*m.Stride+m.Cols : i*m.Stride+m.Cols]
}

// Slice is the view of rows from up to, not including, to.
func (m *Matrix[F]) Slice(from, to int) Matrix[F] {
	if from < 0 || from > to || to > m.Rows {
		panic("kernel: row range outside matrix")
	}
	s := Matrix[F]{Rows: to - from, Cols: m.Cols, Stride: m.Stride}
	if from < to {
		s.Data = m.Data[from*m.Stride:]
	}
	return s
}

// check panics if the view does not lie inside its data.
func (m *Matrix[F]) check() {
	if m.Rows < 0 || m.Cols < 0 || m.Stride < m.Cols {
		panic("kernel: bad matrix shape")
	}
	if m.Rows > 0 && m.Cols > 0 && len(m.Data) < (m.Rows-1)*m.Stride+m.Cols {
		panic("kernel: matrix data too short")
	}
}

// checkShape panics if the view is not rows×cols or does not lie inside its data.
func (m *Matrix[F]) checkShape(rows, cols int) {
	m.check()
	if m.Rows != rows || m.Cols != cols {
		panic("kernel: matrix shapes do not agree")
	}
}

// empty reports whether the matrix has no elements.
func (m *Matrix[F]) empty() bool { return m.Rows == 0 || m.Cols == 0 }
