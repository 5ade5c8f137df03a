package kernel

// SumSquares is Σ x², summed in float64.
func (s *Set[F]) SumSquares(x []F) float64 {
	if l := s.loops; l != nil {
		return l.dot(single(x), single(x), len(x))
	}
	return plainSumSquares(x)
}

// Dot is Σ x·y, summed in float64.
func (s *Set[F]) Dot(x, y []F) float64 {
	checkLengths(x, y)
	if l := s.loops; l != nil {
		return l.dot(single(x), single(y), len(x))
	}
	return plainDot(x, y)
}

// Axpy is y += a·x.
func (s *Set[F]) Axpy(y []F, a F, x []F) {
	checkLengths(x, y)
	if l := s.loops; l != nil {
		l.axpy(single(y), single(x), len(x), float32(a))
		return
	}
	plainAxpy(y, a, x)
}

// Scale is x = a·x.
func (s *Set[F]) Scale(x []F, a F) {
	if l := s.loops; l != nil {
		l.scale(single(x), len(x), float32(a))
		return
	}
	plainScale(x, a)
}

// Rotate turns the points (x, y) by an angle: x, y = cos·x − sin·y, sin·x + cos·y.
func (s *Set[F]) Rotate(x, y []F, cos, sin F) {
	checkLengths(x, y)
	if l := s.loops; l != nil {
		l.rotate(single(x), single(y), len(x), float32(cos), float32(sin))
		return
	}
	plainRotate(x, y, cos, sin)
}

func plainSumSquares[F Float](x []F) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

func plainDot[F Float](x, y []F) float64 {
	y = y[:len(x)]
	var sum float64
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}

func plainAxpy[F Float](y []F, a F, x []F) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

func plainScale[F Float](x []F, a F) {
	for i := range x {
		x[i] *= a
	}
}

func plainRotate[F Float](x, y []F, cos, sin F) {
	y = y[:len(x)]
	for i, v := range x {
		w := y[i]
		x[i], y[i] = cos*v-sin*w, sin*v+cos*w
	}
}
