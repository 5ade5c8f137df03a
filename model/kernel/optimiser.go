package kernel

import "math"

// Adam is one update (Kingma and Ba 2015, algorithm 1) with moments m and v:
//
//	m = β1·m + (1−β1)·grad   v = β2·v + (1−β2)·grad²
//	param −= rate·m / (correction·√v + ε)
//
// At update t = 1, 2, … the algorithm as published (and as in PyTorch, ε added
// to the root of the corrected moment) is rate = learning rate/(1−β1ᵗ) and
// correction = 1/√(1−β2ᵗ). The form of the paper's section 2 (and of TensorFlow)
// is correction = 1 and rate = learning rate·√(1−β2ᵗ)/(1−β1ᵗ).
func (s *Set[F]) Adam(param, grad, m, v []F, rate, beta1, beta2, correction, epsilon F) {
	checkLengths(param, grad, m, v)
	if l := s.loops; l != nil {
		l.adam(single(param), single(grad), single(m), single(v), len(param),
			float32(rate), float32(beta1), float32(1-beta1), float32(beta2), float32(1-beta2), float32(correction),
			float32(epsilon))
		return
	}
	plainAdam(param, grad, m, v, rate, beta1, beta2, correction, epsilon)
}

// RMSprop is one update (Tieleman and Hinton 2012, in PyTorch's form):
//
//	v = ρ·v + (1−ρ)·grad²   param −= rate·grad / (√v + ε)
func (s *Set[F]) RMSprop(param, grad, v []F, rate, rho, epsilon F) {
	checkLengths(param, grad, v)
	if l := s.loops; l != nil {
		l.rmsprop(single(param), single(grad), single(v), len(param), float32(rate), float32(rho), float32(1-rho),
			float32(epsilon))
		return
	}
	plainRMSprop(param, grad, v, rate, rho, epsilon)
}

// Momentum is one update by the heavy ball:
//
//	velocity = momentum·velocity + grad   param −= rate·velocity
func (s *Set[F]) Momentum(param, grad, velocity []F, rate, momentum F) {
	checkLengths(param, grad, velocity)
	if l := s.loops; l != nil {
		l.momentum(single(param), single(grad), single(velocity), len(param), float32(rate), float32(momentum))
		return
	}
	plainMomentum(param, grad, velocity, rate, momentum)
}

func plainAdam[F Float](param, grad, m, v []F, rate, beta1, beta2, correction, epsilon F) {
	grad, m, v = grad[:len(param)], m[:len(param)], v[:len(param)]
	for i, g := range grad {
		first := beta1*m[i] + (1-beta1)*g
		second := beta2*v[i] + (1-beta2)*g*g
		m[i], v[i] = first, second
		param[i] -= rate * first / (correction*F(math.Sqrt(float64(second))) + epsilon)
	}
}

func plainRMSprop[F Float](param, grad, v []F, rate, rho, epsilon F) {
	grad, v = grad[:len(param)], v[:len(param)]
	for i, g := range grad {
		v[i] = rho*v[i] + (1-rho)*g*g
		param[i] -= rate * g / (F(math.Sqrt(float64(v[i]))) + epsilon)
	}
}

func plainMomentum[F Float](param, grad, velocity []F, rate, momentum F) {
	grad, velocity = grad[:len(param)], velocity[:len(param)]
	for i, g := range grad {
		velocity[i] = momentum*velocity[i] + g
		param[i] -= rate * velocity[i]
	}
}
