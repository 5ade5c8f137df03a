package kernel

// Packed holds the right operand B [K×N] of products in the layout that the
// loops of one Set read: panels of a fixed number of columns, one after the
// other, each row-major; the last may be of fewer columns and is padded with
// zeros. The zero value is ready for Pack. Packing costs about as much as a
// product with a few rows: pack a weight once a minibatch and use it at every
// time step.
type Packed[F Float] struct {
	K, N  int
	width int  // columns in a panel
	bias  bool // panels begin with a row of the bias
	data  []F  // panel p is data[p*rows()*width:]
}

// rows is the number of rows of a panel.
func (p *Packed[F]) rows() int {
	if p.bias {
		return p.K + 1
	}
	return p.K
}

// panel is where the panel that begins at column j lies.
func (p *Packed[F]) panel(j int) []F { return p.data[j*p.rows():] }

// Memory is where the operand lies, for [Sum.Prefetch].
func (p *Packed[F]) Memory() []F { return p.data }

// Pack sets dst to B, reusing its storage.
func (s *Set[F]) Pack(dst *Packed[F], b Matrix[F]) { s.pack(dst, b, nil) }

// PackBias sets dst to M together with the bias that is added to a product with
// it, an element for each column, reusing its storage.
func (s *Set[F]) PackBias(dst *Packed[F], m Matrix[F], bias []F) {
	if len(bias) != m.Cols {
		panic("kernel: bias length differs from columns")
	}
	s.pack(dst, m, bias)
}

func (s *Set[F]) pack(dst *Packed[F], b Matrix[F], bias []F) {
	b.check()
	s.resize(dst, b.Rows, b.Cols, bias != nil)
	for j := 0; j < b.Cols; j += s.width {
		panel, w, n := s.beginPanel(dst, j, bias)
		if n == w && n == b.Stride {
			copy(panel, b.Data)
			continue
		}
		for i := range b.Rows {
			copy(panel[i*w:], b.Data[i*b.Stride+j:i*b.Stride+j+n])
		}
	}
}

// PackTransposed sets dst to Bᵀ, reusing its storage: dst.K is b.Cols, dst.N is b.Rows.
func (s *Set[F]) PackTransposed(dst *Packed[F], b Matrix[F]) { s.packTransposed(dst, b, nil) }

// PackTransposedBias is PackTransposed with a bias, see [Set.PackBias].
func (s *Set[F]) PackTransposedBias(dst *Packed[F], m Matrix[F], bias []F) {
	if len(bias) != m.Rows {
		panic("kernel: bias length differs from columns")
	}
	s.packTransposed(dst, m, bias)
}

func (s *Set[F]) packTransposed(dst *Packed[F], b Matrix[F], bias []F) {
	b.check()
	s.resize(dst, b.Cols, b.Rows, bias != nil)
	for j := 0; j < b.Rows; j += s.width {
		panel, w, n := s.beginPanel(dst, j, bias)
		s.backend.transposeMatrix(Matrix[F]{Data: panel, Rows: b.Cols, Cols: n, Stride: w}, b.Slice(j, j+n))
	}
}

// Transpose is dst = srcᵀ.
func (s *Set[F]) Transpose(dst, src Matrix[F]) {
	src.check()
	dst.checkShape(src.Cols, src.Rows)
	s.backend.transposeMatrix(dst, src)
}

// dst[j][i] = src[i][j]
func (p plain[F]) transposeMatrix(dst, src Matrix[F]) {
	plainTransposePart(dst, src, 0, 0)
}

// plainTransposePart leaves out the first rows and columns of src that are both
// below rows and cols.
func plainTransposePart[F Float](dst, src Matrix[F], rows, cols int) {
	// Few columns, as a rule: each fills the beginning of a row of dst.
	for j := cols; j < src.Cols && rows > 0; j++ {
		at := j
		to := dst.Data[j*dst.Stride:][:rows]
		for i := range to {
			to[i] = src.Data[at]
			at += src.Stride
		}
	}
	for i := rows; i < src.Rows; i++ {
		at := i
		for _, x := range src.Row(i) {
			dst.Data[at] = x
			at += dst.Stride
		}
	}
}

// beginPanel clears the panel that begins at column j where it is wider than what
// is left, writes the bias and returns the rows of the operand, their width and
// how many columns they hold.
func (s *Set[F]) beginPanel(dst *Packed[F], j int, bias []F) (rows []F, width, n int) {
	left := dst.N - j
	width = s.panelWidth(left)
	rows, n = dst.panel(j)[:width*dst.rows()], min(width, left)
	if n < width {
		clear(rows)
	}
	if bias != nil {
		copy(rows, bias[j:j+n])
		rows = rows[width:]
	}
	return rows, width, n
}

// panelWidth is the width of a panel when n > 0 columns are left.
func (s *Set[F]) panelWidth(n int) int {
	if n <= s.narrow {
		return s.narrow
	}
	return s.width
}

// Reserve makes room for an operand of up to k×n, and a bias, in each of the list, all in
// one piece of memory.
func (s *Set[F]) Reserve(list []Packed[F], k, n int, bias bool) {
	size := s.PackedSize(k, n, bias)
	stride := (size + lineElements - 1) / lineElements * lineElements
	memory := Make[F](len(list) * stride)
	for i := range list {
		list[i].data = memory[i*stride : i*stride+size : (i+1)*stride]
	}
}

// PackedSize is the number of elements that a [Packed] operand of k×n and a bias take.
func (s *Set[F]) PackedSize(k, n int, bias bool) int {
	columns := n / s.width * s.width
	if n > columns {
		columns += s.panelWidth(n - columns)
	}
	if bias {
		k++
	}
	return columns * k
}

// resize makes room for k×n and a bias.
func (s *Set[F]) resize(p *Packed[F], k, n int, bias bool) {
	p.K, p.N, p.width, p.bias = k, n, s.width, bias
	size := s.PackedSize(k, n, bias)
	if cap(p.data) < size {
		p.data = make([]F, size)
	}
	p.data = p.data[:size]
}
