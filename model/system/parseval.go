package system

import (
	"sweep/model/weight"
	"sweep/sweep"
)

var parseval = sweep.ParameterSchema{
	Name: "parseval", Type: sweep.NumberType, Default: int64(0), Neutral: int64(0), Minimum: new(0.0),
	Maximum: new(1e6),
	Doc: "λ of the penalty λ ‖I - WᵀW‖² of a dense transition matrix (Cisse et al. 2017), which is added to the " +
		"training loss's gradient but not to the loss that is reported",
}

// denseTransition is a dense matrix, regularised if that is asked for.
func (o *Options) denseTransition() weight.Spec {
	if lambda := o.Number(parseval.Name); lambda > 0 {
		return weight.ParsevalSpec{Lambda: lambda}
	}
	return weight.DenseSpec{}
}
