package kernel

// Functions that tests compare the loops by: one element, one product or one reflector at
// a time.

// Activate is dst = φ(src). dst may be src. slope matters to LeakyReLU only.
// A NaN stays one.
func (s *Set[F]) Activate(dst, src []F, act Activation, slope F) {
	checkLengths(dst, src)
	switch act {
	case Linear:
		copy(dst, src)
	case ReLU, LeakyReLU:
		if l := s.loops; l != nil {
			l.leaky(single(dst), single(src), len(src), float32(slopeOf(act, slope)))
			return
		}
		plainLeaky(dst, src, slopeOf(act, slope))
	case Tanh:
		s.Tanh(dst, src)
	default:
		panic("kernel: unknown activation")
	}
}

// Exp is dst = exp(src). dst may be src. The relative error is below 2e-7 in
// float32; results under the normal range may be 0.
func (s *Set[F]) Exp(dst, src []F) {
	checkLengths(dst, src)
	if l := s.loops; l != nil {
		l.exp(single(dst), single(src), len(src))
		return
	}
	for i, x := range src {
		dst[i] = exp(x)
	}
}

// Tanh is dst = tanh(src). dst may be src. The relative error is below 4e-7 in
// float32.
func (s *Set[F]) Tanh(dst, src []F) {
	checkLengths(dst, src)
	if l := s.loops; l != nil {
		l.tanh(single(dst), single(src), len(src))
		return
	}
	plainTanh(dst, src)
}

// MultiplyBias is C = 1·biasᵀ + X·M.
func (s *Set[F]) MultiplyBias(c, x Matrix[F], m *Packed[F]) { s.MultiplySum(c, Sum[F]{X: x, M: m}) }

// ReflectLeft is ReflectLeftAll by one reflector.
func (s *Set[F]) ReflectLeft(q Matrix[F], u []F) { s.ReflectLeftAll(q, [][]F{u}) }

// ReflectLeftBackward is ReflectLeftAllBackward by one reflector.
func (s *Set[F]) ReflectLeftBackward(q, g Matrix[F], u, du []F) {
	s.ReflectLeftAllBackward(q, g, [][]F{u}, [][]F{du})
}
