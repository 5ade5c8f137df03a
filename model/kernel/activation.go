package kernel

import (
	"fmt"
	"slices"
)

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
	if a := slices.Index(activationNames[:], name); a >= 0 {
		return Activation(a), nil
	}
	return 0, fmt.Errorf("activation %q is not known: want linear, relu, leaky_relu or tanh", name)
}

// Derivative is dst = grad ∘ φ'(x), where φ' is found from out = φ(x): for
// LeakyReLU 1 where out > 0 and slope elsewhere (ReLU: slope 0), for Tanh 1 − out².
// slope must not be negative. dst may be grad or out.
func (s *Set[F]) Derivative(dst, grad, out []F, act Activation, slope F) {
	checkLengths(dst, grad, out)
	checkActivation(act)
	switch l := s.loops; {
	case act == Linear:
		copy(dst, grad)
	case l == nil:
		plainDerivative(dst, grad, out, act, slope)
	case act == Tanh:
		l.tanhDerivative(single(dst), single(grad), single(out), len(grad))
	default:
		l.leakyDerivative(single(dst), single(grad), single(out), len(grad), float32(slopeOf(act, slope)))
	}
}

// slopeOf is what an activation's slope is where its output is not positive.
func slopeOf[F Float](act Activation, slope F) F {
	switch act {
	case Linear:
		return 1
	case ReLU:
		return 0
	}
	return slope
}

// Sigmoid is dst = 1/(1+exp(−src)). dst may be src. The relative error is below
// 4e-7 in float32.
func (s *Set[F]) Sigmoid(dst, src []F) {
	checkLengths(dst, src)
	if l := s.loops; l != nil {
		l.sigmoid(single(dst), single(src), len(src))
		return
	}
	plainSigmoid(dst, src)
}
