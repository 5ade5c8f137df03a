package system

import (
	"fmt"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

// depth is a parameter of all systems. Of recurrent ones each layer is a system of its
// own, which whoever builds the network puts on top of each other.
var depth = sweep.ParameterSchema{
	Name: "layers", Type: sweep.IntegerType, Default: int64(1), Neutral: int64(1), Minimum: new(1.0),
	Maximum: new(1000.0),
	Doc:     "layers of hidden units; of a resnet, the input layer and two a block",
}

// Depth is the schema of the number of layers.
func Depth() sweep.ParameterSchema { return depth }

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
	for number := range o.integer(&depth) {
		layers = append(layers, affine(o, number, false, matrix))
	}
	return layers
}

// residual is an input layer and blocks of two, h ← φ(h + W” φ(W' h + b') + b”).
func residual(o *Options, matrix matrixOf) []layer.Spec {
	layers := []layer.Spec{affine(o, 0, false, matrix)}
	block := layer.ResidualSpec{Width: o.Hidden}
	block.Activation, block.Slope = o.phi()
	for number := 1; number < o.integer(&depth); number += 2 {
		block.Inner = []layer.Spec{affine(o, number, false, matrix), affine(o, number+1, true, matrix)}
		layers = append(layers, layer.Spec{Options: block})
	}
	return layers
}

// checkBlocks refuses a depth that leaves half a block.
func checkBlocks(o *Options) error {
	if o.integer(&depth)%2 == 0 {
		return o.refuse(&depth, "must be odd: an input layer and blocks of two")
	}
	return nil
}

// dense is dense matrices.
func dense(_, _, _ int) (weight.Spec, weight.Start) { return weight.DenseSpec{}, weight.StartGaussian }

// spectral is SVDs. The input layer has as many reflectors a side as it has singular values, all
// of them, and σ* = 1: with fewer most inputs would not count. Its σ start at σ*, those of the
// other layers with σ̂ of that scale.
func spectral(o *Options, center, scale float64) matrixOf {
	return func(number, rows, cols int) (weight.Spec, weight.Start) {
		options := o.svd(center)
		if options.Scale = scale; number == 0 {
			options.Left, options.Right, options.Center, options.Scale = min(rows, cols), min(rows, cols), 1, 0
		}
		return options, weight.StartRandom
	}
}

// denseCount and spectralCount are the numbers of weights of all layers.
func denseCount(o *Options) int {
	return (o.Inputs+1)*o.Hidden + (o.integer(&depth)-1)*(o.Hidden+1)*o.Hidden
}

func spectralCount(o *Options) int {
	k, n := min(o.Inputs, o.Hidden), o.Hidden
	first := reflectorCount(n, k) + reflectorCount(o.Inputs, k) + k + n
	other := reflectorCount(n, o.integer(&leftReflectors)) + reflectorCount(n, o.integer(&rightReflectors)) + 2*n
	return first + (o.integer(&depth)-1)*other
}
