package kernel

// Packed holds the right operand B [K×N] of products in the layout that the
// loops of one Set read: panels of a fixed number of columns, one after the
// other, each row-major; the last may be of fewer columns and is padded with
// zeros. The zero value is ready for Pack. Packing costs about as much as a
// product with a few rows: pack a weight once a minibatch and use it at every
// time step.
type Packed[F Float] struct {
	K, N  int
	width int // columns in a panel
	data  []F // panel p is data[p*K*width:]
}

// Pack sets dst to B, reusing its storage.
func (s *Set[F]) Pack(dst *Packed[F], b Matrix[F]) {
	b.check()
	s.resize(dst, b.Rows, b.Cols)
	for j := 0; j < b.Cols; j += s.width {
		w := s.panelWidth(b.Cols - j)
		panel := dst.data[j*b.Rows : (j+w)*b.Rows]
		n := min(w, b.Cols-j)
		if n == w && n == b.Stride {
			copy(panel, b.Data)
			continue
		}
		if n < w {
			clear(panel)
		}
		for i := range b.Rows {
			copy(panel[i*w:], b.Data[i*b.Stride+j:i*b.Stride+j+n])
		}
	}
}

// PackTransposed sets dst to Bᵀ, reusing its storage: dst.K is b.Cols, dst.N is b.Rows.
func (s *Set[F]) PackTransposed(dst *Packed[F], b Matrix[F]) {
	b.check()
	s.resize(dst, b.Cols, b.Rows)
	for j := 0; j < b.Rows; j += s.width {
		w := s.panelWidth(b.Rows - j)
		panel := dst.data[j*b.Cols : (j+w)*b.Cols]
		n := min(w, b.Rows-j)
		if n < w {
			clear(panel)
		}
		s.transpose(Matrix[F]{Data: panel, Rows: b.Cols, Cols: n, Stride: w}, b.Slice(j, j+n))
	}
}

// Transpose is dst = srcᵀ.
func (s *Set[F]) Transpose(dst, src Matrix[F]) {
	src.check()
	dst.checkShape(src.Cols, src.Rows)
	s.transpose(dst, src)
}

// dst[j][i] = src[i][j]
func plainTranspose[F Float](dst, src Matrix[F]) {
	plainTransposePart(dst, src, 0, 0)
}

// plainTransposePart leaves out the first rows and columns of src that are both
// below rows and cols.
func plainTransposePart[F Float](dst, src Matrix[F], rows, cols int) {
	for i := range src.Rows {
		from := 0
		if i < rows {
			from = cols
		}
		at := from*dst.Stride + i
		for _, x := range src.Row(i)[from:] {
			dst.Data[at] = x
			at += dst.Stride
		}
	}
}

// panelWidth is the width of a panel when n > 0 columns are left.
func (s *Set[F]) panelWidth(n int) int {
	if n <= s.narrow {
		return s.narrow
	}
	return s.width
}

// resize makes room for k×n.
func (s *Set[F]) resize(p *Packed[F], k, n int) {
	p.K, p.N, p.width = k, n, s.width
	columns := n / s.width * s.width
	if n > columns {
		columns += s.panelWidth(n - columns)
	}
	if cap(p.data) < columns*k {
		p.data = make([]F, columns*k)
	}
	p.data = p.data[:columns*k]
}
