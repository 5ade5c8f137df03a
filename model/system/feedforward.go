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
	Name: "layers", Type: sweep.IntegerType, Default: int64(1), Neutral: int64(1), Minimum: new(1.0), Maximum: new(1000.0),
	Doc: "layers of hidden units; of a resnet, the input layer and two a block",
}

// Depth is the schema of the number of layers.
func Depth() sweep.ParameterSchema { return depth }

// wholeSeries are the defaults of a network without recurrence.
var wholeSeries = map[string]any{"input_size": int64(-1), "layers": int64(30)}

// matrixOf declares the matrix of a feed-forward network's layer of that number.
type matrixOf[F kernel.Float] func(number, rows, cols int) (weight.Matrix[F], error)

// affine declares a layer of a feed-forward network, and notes its matrix there.
func (n *Network[F]) affine(set *kernel.Set[F], arena *weight.Arena[F], o *Options, number int, linear bool, matrix matrixOf[F]) (layer.Layer[F], error) {
	arena.SetPrefix(fmt.Sprintf("%d.", number))
	defer arena.SetPrefix("")
	activation, slope, err := phi(o)
	if err != nil {
		return nil, err
	}
	if linear {
		activation = kernel.Linear
	}
	cols := o.Hidden
	if number == 0 {
		cols = o.Inputs
	}
	w, err := matrix(number, o.Hidden, cols)
	if err != nil {
		return nil, err
	}
	n.Matrices = append(n.Matrices, w)
	asked := matrixStart(o)
	if asked == "" {
		asked = w.Starts()[0]
	}
	path := o.Path
	if o.Hidden != cols { // factors are of square matrices
		path = layer.PathAuto
	}
	return layer.NewAffine(set, arena, w, layer.AffineOptions{Bias: "b", Activation: activation, Slope: slope, Start: asked, Path: path})
}

// perceptron builds layers one after the other.
func perceptron[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options, matrix matrixOf[F]) (Network[F], error) {
	var n Network[F]
	for number := range o.integer(&depth) {
		l, err := n.affine(set, arena, o, number, false, matrix)
		if err != nil {
			return n, err
		}
		n.Layers = append(n.Layers, l)
	}
	return n, nil
}

// residual builds an input layer and blocks of two, h ← φ(h + W” φ(W' h + b') + b”).
func residual[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options, matrix matrixOf[F]) (Network[F], error) {
	var n Network[F]
	input, err := n.affine(set, arena, o, 0, false, matrix)
	if err != nil {
		return n, err
	}
	n.Layers = []layer.Layer[F]{input}
	activation, slope, err := phi(o)
	if err != nil {
		return n, err
	}
	for number := 1; number < o.integer(&depth); number += 2 {
		first, err := n.affine(set, arena, o, number, false, matrix)
		if err != nil {
			return n, err
		}
		second, err := n.affine(set, arena, o, number+1, true, matrix)
		if err != nil {
			return n, err
		}
		block, err := layer.NewResidual(set, layer.NewStack(first, second), o.Hidden, activation, slope)
		if err != nil {
			return n, err
		}
		n.Layers = append(n.Layers, block)
	}
	return n, nil
}

// checkBlocks refuses a depth that leaves half a block.
func checkBlocks(o *Options) error {
	if o.integer(&depth)%2 == 0 {
		return o.refuse(&depth, "must be odd: an input layer and blocks of two")
	}
	return nil
}

// denseOf declares dense matrices.
func denseOf[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F]) matrixOf[F] {
	return func(_, rows, cols int) (weight.Matrix[F], error) { return weight.NewDense(set, arena, "W", rows, cols) }
}

// spectralOf declares SVDs. The input layer has as many reflectors a side as it has
// singular values, all of them, and σ* = 1: with fewer most inputs would not count.
// Its σ start at σ*, those of the other layers with σ̂ of that scale.
func spectralOf[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options, center, scale float64) matrixOf[F] {
	return func(number, rows, cols int) (weight.Matrix[F], error) {
		options := weight.SVDOptions{Left: o.integer(&leftReflectors), Right: o.integer(&rightReflectors), Radius: o.number(&radius), Center: center, Scale: scale}
		if number == 0 {
			options.Left, options.Right, options.Center, options.Scale = min(rows, cols), min(rows, cols), 1, 0
		}
		return weight.NewSVD(set, arena, rows, cols, options)
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
