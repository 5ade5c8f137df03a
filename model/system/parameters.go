package system

import (
	"strings"

	"sweep/model/kernel"
	"sweep/sweep"
)

// Parameters that several systems have.
var (
	activation = sweep.ParameterSchema{
		Name: "activation", Type: sweep.StringType, Default: "leaky_relu",
		Enum: []any{"linear", "relu", "leaky_relu", "tanh"},
		Doc:  "activation φ",
	}
	slope = sweep.ParameterSchema{
		Name: "slope", Type: sweep.NumberType, Default: 0.2, Minimum: new(0.0), Maximum: new(1.0),
		AppliesWhen: sweep.Match{"activation": {"leaky_relu"}},
		Doc:         "slope of leaky_relu below zero",
	}
	leftReflectors = sweep.ParameterSchema{
		Name: "m1", Type: sweep.IntegerType, Default: int64(16), Minimum: new(1.0),
		Doc: "reflectors of U, or of the orthogonal transition matrix",
	}
	start = sweep.ParameterSchema{
		Name: "start", Type: sweep.StringType, Default: defaultStart,
		Neutral: defaultStart, NeutralWhen: sweep.Match{"model": {"lstm", "gru", "vprnn", "sgornn"}},
		Enum: []any{defaultStart, "near-identity", "identity", "orthogonal", "keras", byUniformAngles},
		Doc: "start of the transition matrix: random, as each system does; near-identity of reflectors; identity or " +
			"orthogonal of a dense one, of each gate's in lstm and gru; keras is orthogonal, too, of all gates' " +
			"matrices beside each other; uniform draws the angles of vprnn and sgornn from U(-0.05, 0.05), as the " +
			"code of their authors, random from N(0, 0.05²)",
	}
	recurrentScale = sweep.ParameterSchema{
		Name: "recurrent_scale", Type: sweep.NumberType, Default: int64(1), Neutral: int64(1), Minimum: new(0.0),
		Doc: "factor of the start of the gates' transition matrices",
	}
)

// defaultStart is the start that every system knows, whatever it means there.
const defaultStart = "random"

// byUniformAngles is the start of rotations by angles of one distribution.
const byUniformAngles = "uniform"

// phi returns the activation and its slope.
func (o *Options) phi() (kernel.Activation, float64) {
	a, err := kernel.ParseActivation(o.Text(activation.Name))
	if err != nil {
		_ = o.Refuse(activation.Name, "%v", err) // Err returns it
	}
	return a, o.Number(slope.Name)
}

// checkReflectors refuses more reflectors than there are units.
func checkReflectors(o *Options, numbers ...*sweep.ParameterSchema) error {
	var many []string
	for _, p := range numbers {
		if o.Integer(p.Name) > o.Hidden {
			many = append(many, p.Name)
		}
	}
	if len(many) == 0 {
		return nil
	}
	all := ""
	if len(many) > 1 {
		all = strings.Join(many, " and ") + " "
	}
	return o.Refuse(many[0], "%smust not exceed hidden = %d, the number of reflectors of different length", all,
		o.Hidden)
}
