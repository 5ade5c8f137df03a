package system

import (
	"fmt"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

// Depth is the schema of the number of layers, a parameter of all systems. The network stacks that
// many layers of a recurrent system; a feed-forward one counts its own.
var Depth = sweep.ParameterSchema{
	Name: "layers", Type: sweep.IntegerType, Default: int64(1), Neutral: int64(1), Minimum: new(1.0),
	Maximum: new(1000.0),
	Doc:     "layers of hidden units; of a resnet, the input layer and two a block",
}

// wholeSeries are the defaults of a network without recurrence.
var wholeSeries = map[string]any{"input_size": int64(-1), "layers": int64(30)}

// matrixOf is the matrix of a feed-forward network's layer of that number, and its usual start.
type matrixOf func(number, rows, cols int) (weight.Spec, weight.Start)

// affine is the layer of that number of a feed-forward network.
func affine(o *Options, number int, linear bool, matrix matrixOf) layer.Spec {
	options := layer.AffineOptions{Bias: "b", Start: o.matrixStart(), Operator: o.Operator}
	if options.Activation, options.Slope = o.phi(); linear {
		options.Activation = kernel.Linear
	}
	cols := o.Hidden
	if number == 0 {
		cols = o.Inputs
	}
	spec, usual := matrix(number, o.Hidden, cols)
	if options.Start == "" {
		options.Start = usual
	}
	if o.Hidden != cols { // factors are of square matrices
		options.Operator = layer.OperatorAuto
	}
	return layer.Spec{Prefix: fmt.Sprintf("%d.", number), Options: options, Matrix: spec, Rows: o.Hidden, Cols: cols}
}

// perceptron is layers one after the other.
func perceptron(o *Options, matrix matrixOf) (layers []layer.Spec) {
	for number := range o.Integer(Depth.Name) {
		layers = append(layers, affine(o, number, false, matrix))
	}
	return layers
}

// residual is an input layer and blocks of two, h ← φ(h + W” φ(W' h + b') + b”).
func residual(o *Options, matrix matrixOf) []layer.Spec {
	layers := []layer.Spec{affine(o, 0, false, matrix)}
	block := layer.ResidualSpec{Width: o.Hidden}
	block.Activation, block.Slope = o.phi()
	for number := 1; number < o.Integer(Depth.Name); number += 2 {
		block.Inner = []layer.Spec{affine(o, number, false, matrix), affine(o, number+1, true, matrix)}
		layers = append(layers, layer.Spec{Options: block})
	}
	return layers
}

// checkBlocks refuses a depth that leaves half a block.
func checkBlocks(o *Options) error {
	if o.Integer(Depth.Name)%2 == 0 {
		return o.Refuse(Depth.Name, "must be odd: an input layer and blocks of two")
	}
	return nil
}

// dense is dense matrices.
func dense(_, _, _ int) (weight.Spec, weight.Start) { return weight.DenseSpec{}, weight.StartGaussian }

// spectralMatrix is SVDs. The input layer has as many reflectors a side as it has singular values, all
// of them, and σ* = 1: with fewer most inputs would not count. Its σ start at σ*, those of the
// other layers with σ̂ of that scale.
func spectralMatrix(o *Options, center, scale float64) matrixOf {
	return func(number, rows, cols int) (weight.Spec, weight.Start) {
		options := o.svd(center)
		if options.Scale = scale; number == 0 {
			options.Left, options.Right, options.Center, options.Scale = min(rows, cols), min(rows, cols), 1, 0
		}
		return options, weight.StartRandom
	}
}
