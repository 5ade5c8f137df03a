package system

import (
	"sweep/model/kernel"
	"sweep/model/weight"
	"sweep/sweep"
)

var rnn = System{
	Name:       "rnn",
	Doc:        "simple recurrent network, h(t) = φ(W h(t-1) + M x(t) + b)",
	Source:     "Elman 1990; Zhang, Lei and Dhillon 2018, eq. 4",
	Parameters: []*sweep.ParameterSchema{&activation, &slope, &start},
	Starts:     []string{"identity", "orthogonal"},
	count:      func(o *Options) int { return elmanCount(o, o.Hidden*o.Hidden) },
	build32:    buildRNN[float32],
	build64:    buildRNN[float64],
}

func buildRNN[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options) (Network[F], error) {
	w, err := weight.NewDense(set, arena, "W", o.Hidden, o.Hidden)
	return elman(set, arena, o, w, err)
}
