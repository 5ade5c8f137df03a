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
		for i := range b.Rows {
			row := panel[i*w : (i+1)*w]
			clear(row[copy(row, b.Data[i*b.Stride+j:i*b.Stride+j+n]):])
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
		for q := range n {
			at := q
			for _, x := range b.Data[(j+q)*b.Stride : (j+q)*b.Stride+b.Cols] {
				panel[at] = x
				at += w
			}
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
