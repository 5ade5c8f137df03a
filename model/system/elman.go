package system

import (
	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/weight"
)

// elman builds an Elman cell over a matrix that has been declared.
func elman[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], o *Options, matrix weight.Matrix[F], err error) (Network[F], error) {
	if err != nil {
		return Network[F]{}, err
	}
	activation, slope, err := phi(o)
	if err != nil {
		return Network[F]{}, err
	}
	cell, err := layer.NewElman(set, arena, matrix, layer.ElmanOptions{
		Inputs: o.Inputs, Activation: activation, Slope: slope, FixedStart: o.FixedStart, Every: o.Every, Path: o.Path,
		Start: matrixStart(o), InputScale: o.InputScale,
	})
	return Network[F]{Layers: []layer.Layer[F]{cell}, Matrices: []weight.Matrix[F]{matrix}}, err
}

// matrixStart is the start of the matrix that is asked for; "" is its own.
func matrixStart(o *Options) weight.Start {
	if asked := o.text(&start); asked != defaultStart {
		return weight.Start(asked)
	}
	return ""
}

// elmanCount is the number of weights of an Elman cell whose matrix has so many: M,
// b and, if it is trained, h(0) besides.
func elmanCount(o *Options, matrix int) int {
	count := matrix + (o.Inputs+1)*o.Hidden
	if !o.FixedStart {
		count += o.Hidden
	}
	return count
}
