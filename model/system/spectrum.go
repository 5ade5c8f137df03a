package system

import "sweep/sweep"

// Parameters of the singular values of systems that have them.
var (
	radius = sweep.ParameterSchema{
		Name: "r", Type: sweep.NumberType, Default: 0.1, Minimum: new(0.0), Maximum: new(1000.0),
		Doc: "largest deviation of a singular value from sigma_center",
	}
	center = sweep.ParameterSchema{
		Name: "sigma_center", Type: sweep.NumberType, Default: int64(1),
		Minimum: new(0.0), ExclusiveMinimum: true, Maximum: new(1000.0),
		Doc: "centre σ* of the singular values",
	}
	sigma = sweep.ParameterSchema{
		Name: "sigma", Type: sweep.StringType, Default: bySigmoid, Neutral: bySigmoid, NeutralWhen: spectral,
		Enum: []any{bySigmoid, byClipping},
		Doc: "what keeps σ within r of sigma_center: sigmoid, σ = 2r (sigmoid(σ̂) - ½) + σ*; clip, σ itself is " +
			"trained and clipped after every step",
	}
	sigmaPenalty = sweep.ParameterSchema{
		Name: "sigma_penalty", Type: sweep.NumberType, Default: int64(0), Neutral: int64(0), NeutralWhen: spectral,
		Minimum: new(0.0), Maximum: new(1e6),
		Doc: "λ of the penalty λ ‖σ - σ*‖², which is added to the training loss's gradient but not to the loss that " +
			"is reported",
	}
)

const bySigmoid, byClipping = "sigmoid", "clip"

// spectral are the systems whose σ had one form before they had a choice.
var spectral = sweep.Match{"model": {"spectral-rnn", "spectral-mlp", "spectral-resnet"}}

// checkRadius refuses singular values below zero.
func checkRadius(o *Options) error {
	if o.Number(radius.Name) > o.Number(center.Name) {
		return o.Refuse(radius.Name, "must not exceed sigma_center = %v: singular values would become negative",
			o.Number(center.Name))
	}
	return nil
}
