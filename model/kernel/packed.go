package kernel

// Packed holds the right operand B [K×N] of products in the layout that the
// loops of one Set read: panels of a fixed number of columns, one after the
// other, each row-major and the last padded with zeros. The zero value is ready
// for Pack. Packing costs about as much as a product with a few rows: pack a
// weight once a minibatch and use it at every time step.
type Packed[F Float] struct {
	K, N  int
	width int // columns in a panel
	data  []F // panel p is data[p*K*width:]
}

// Pack sets dst to B, reusing its storage.
func (s *Set[F]) Pack(dst *Packed[F], b Matrix[F]) {
	b.check()
	w := dst.resize(b.Rows, b.Cols, s.width)
	for j := 0; j < b.Cols; j += w {
		panel := dst.data[j*b.Rows : (j+w)*b.Rows]
		n := min(w, b.Cols-j)
		for i := range b.Rows {
			clear(panel[i*w+copy(panel[i*w:(i+1)*w], b.Data[i*b.Stride+j:i*b.Stride+j+n]) : (i+1)*w])
		}
	}
}

// PackTransposed sets dst to Bᵀ, reusing its storage: dst.K is b.Cols, dst.N is b.Rows.
func (s *Set[F]) PackTransposed(dst *Packed[F], b Matrix[F]) {
	b.check()
	w := dst.resize(b.Cols, b.Rows, s.width)
	for j := 0; j < b.Rows; j += w {
		panel := dst.data[j*b.Cols : (j+w)*b.Cols]
		n := min(w, b.Rows-j)
		for q := range n {
			for k, x := range b.Data[(j+q)*b.Stride : (j+q)*b.Stride+b.Cols] {
				panel[k*w+q] = x
			}
		}
		for k := range b.Cols {
			clear(panel[k*w+n : (k+1)*w])
		}
	}
}

// resize makes room for k×n in panels of the given width, which it returns.
func (p *Packed[F]) resize(k, n, width int) int {
	p.K, p.N, p.width = k, n, width
	size := (n + width - 1) / width * width * k
	if cap(p.data) < size {
		p.data = make([]F, size)
	}
	p.data = p.data[:size]
	return width
}
