package kernel

import "fmt"

// Activation is an elementwise nonlinearity φ.
type Activation uint8

// The activations. Those with a slope take it as an argument beside them.
const (
	Linear    Activation = iota // x
	ReLU                        // x if x > 0, else 0
	LeakyReLU                   // x if x > 0, else slope·x
	Tanh                        // tanh(x)
)

var activationNames = [...]string{Linear: "linear", ReLU: "relu", LeakyReLU: "leaky_relu", Tanh: "tanh"}

// String is the name by which sweep files call the activation.
func (a Activation) String() string {
	if int(a) < len(activationNames) {
		return activationNames[a]
	}
	return fmt.Sprintf("Activation(%d)", uint8(a))
}

// ParseActivation is the activation of that name: linear, relu, leaky_relu or tanh.
func ParseActivation(name string) (Activation, error) {
	for a, n := range activationNames {
		if n == name {
			return Activation(a), nil
		}
	}
	return 0, fmt.Errorf("activation %q is not known: want linear, relu, leaky_relu or tanh", name)
}

// Activate is dst = φ(src). dst may be src. slope matters to LeakyReLU only.
// A NaN stays one.
func (s *Set[F]) Activate(dst, src []F, act Activation, slope F) {
	if len(dst) != len(src) {
		panic("kernel: vector lengths differ")
	}
	switch act {
	case Linear:
		copy(dst, src)
	case ReLU:
		s.leaky(dst, src, 0)
	case LeakyReLU:
		s.leaky(dst, src, slope)
	case Tanh:
		s.Tanh(dst, src)
	default:
		panic("kernel: unknown activation")
	}
}

// Derivative is dst = grad ∘ φ'(x), where φ' is found from out = φ(x): for
// LeakyReLU 1 where out > 0 and slope elsewhere (ReLU: slope 0), for Tanh 1 − out².
// slope must not be negative. dst may be grad or out.
func (s *Set[F]) Derivative(dst, grad, out []F, act Activation, slope F) {
	if len(dst) != len(grad) || len(dst) != len(out) {
		panic("kernel: vector lengths differ")
	}
	switch act {
	case Linear:
		copy(dst, grad)
	case ReLU:
		s.leakyDerivative(dst, grad, out, 0)
	case LeakyReLU:
		s.leakyDerivative(dst, grad, out, slope)
	case Tanh:
		if l := s.loops; l != nil {
			l.tanhDerivative(single(dst), single(grad), single(out), len(grad))
			return
		}
		plainTanhDerivative(dst, grad, out)
	default:
		panic("kernel: unknown activation")
	}
}

func (s *Set[F]) leaky(dst, src []F, slope F) {
	if l := s.loops; l != nil {
		l.leaky(single(dst), single(src), len(src), float32(slope))
		return
	}
	plainLeaky(dst, src, slope)
}

func (s *Set[F]) leakyDerivative(dst, grad, out []F, slope F) {
	if l := s.loops; l != nil {
		l.leakyDerivative(single(dst), single(grad), single(out), len(grad), float32(slope))
		return
	}
	plainLeakyDerivative(dst, grad, out, slope)
}

// Exp is dst = exp(src). dst may be src. The relative error is below 2e-7 in
// float32; results under the normal range may be 0.
func (s *Set[F]) Exp(dst, src []F) {
	if len(dst) != len(src) {
		panic("kernel: vector lengths differ")
	}
	if l := s.loops; l != nil {
		l.exp(single(dst), single(src), len(src))
		return
	}
	plainExp(dst, src)
}

// Sigmoid is dst = 1/(1+exp(−src)). dst may be src. The relative error is below
// 4e-7 in float32.
func (s *Set[F]) Sigmoid(dst, src []F) {
	if len(dst) != len(src) {
		panic("kernel: vector lengths differ")
	}
	if l := s.loops; l != nil {
		l.sigmoid(single(dst), single(src), len(src))
		return
	}
	plainSigmoid(dst, src)
}

// Tanh is dst = tanh(src). dst may be src. The relative error is below 4e-7 in
// float32.
func (s *Set[F]) Tanh(dst, src []F) {
	if len(dst) != len(src) {
		panic("kernel: vector lengths differ")
	}
	if l := s.loops; l != nil {
		l.tanh(single(dst), single(src), len(src))
		return
	}
	plainTanh(dst, src)
}
