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

// NewMatrix is a matrix of zeros without gaps.
func NewMatrix[F Float](rows, cols int) Matrix[F] { return Dense(Make[F](rows*cols), rows, cols) }

// PaddedColumns is the length from which on NewPadded pads rows.
const PaddedColumns = 512

// NewPadded is a matrix of zeros. Rows that are long are padded, so that those of one
// column do not compete for the same few places of the cache.
func NewPadded[F Float](rows, cols int) Matrix[F] {
	return newStrided[F](rows, cols, PaddedStride(cols))
}

// PaddedStride is the stride of a NewPadded matrix of so many columns.
func PaddedStride(cols int) int {
	if cols >= PaddedColumns {
		return cols + lineElements
	}
	return cols
}

// NewLines is a matrix of zeros whose rows, if they are short, lie in cache lines of
// their own: what writes in the place of a row must not wait with reading the next one.
func NewLines[F Float](rows, cols int) Matrix[F] { return newStrided[F](rows, cols, linesStride(cols)) }

func linesStride(cols int) int { return max(PaddedStride(cols), lineElements) }

func newStrided[F Float](rows, cols, stride int) Matrix[F] {
	return Matrix[F]{Data: Make[F](rows * stride), Rows: rows, Cols: cols, Stride: stride}
}

// lineElements is the number of float32 in a cache line.
const lineElements = 16

// Columns is the view of some columns.
func (m Matrix[F]) Columns(from, to int) Matrix[F] {
	if m.Cols = to - from; m.Rows > 0 {
		m.Data = m.Data[from:]
	}
	return m
}

// Fill copies src, which is of the same shape, row by row.
func (m Matrix[F]) Fill(src Matrix[F]) {
	if m.Stride == m.Cols && src.Stride == src.Cols {
		copy(m.Data, src.Data[:src.Rows*src.Cols])
		return
	}
	for i := range m.Rows {
		copy(m.Row(i), src.Row(i))
	}
}

// Clear sets all elements to 0.
func (m Matrix[F]) Clear() {
	if m.Stride == m.Cols {
		clear(m.Data[:m.Rows*m.Cols])
		return
	}
	for i := range m.Rows {
		clear(m.Row(i))
	}
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

// emptyAs panics unless the matrix and those beside it are of one shape, and reports
// whether they have no elements.
func (m *Matrix[F]) emptyAs(others ...*Matrix[F]) bool {
	m.check()
	for _, o := range others {
		o.checkShape(m.Rows, m.Cols)
	}
	return m.empty()
}

// checkColumns checks the matrix, and panics unless the vectors have an element for each column.
func checkColumns[F Float](m *Matrix[F], vectors ...[]F) {
	m.check()
	for _, v := range vectors {
		if len(v) != m.Cols {
			panic("kernel: vector length differs from columns")
		}
	}
}

// checkRows checks the matrix, and panics unless the vectors have an element for each row.
func checkRows[F Float](m *Matrix[F], vectors ...[]F) {
	m.check()
	for _, v := range vectors {
		if len(v) != m.Rows {
			panic("kernel: vector length differs from rows")
		}
	}
}

// checkLengths panics unless the vectors are of one length.
func checkLengths[F Float](first []F, others ...[]F) {
	for _, v := range others {
		if len(v) != len(first) {
			panic("kernel: vector lengths differ")
		}
	}
}

// empty reports whether the matrix has no elements.
func (m *Matrix[F]) empty() bool { return m.Rows == 0 || m.Cols == 0 }

// PaddedSize is the number of elements of a NewPadded matrix.
func PaddedSize(rows, cols int) int { return rows * PaddedStride(cols) }

// LinesSize is the number of elements of a NewLines matrix.
func LinesSize(rows, cols int) int { return rows * linesStride(cols) }
