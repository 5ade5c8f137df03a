package system

import (
	"sweep/model/layer"
	"sweep/model/weight"
)

// elman is an Elman cell over a matrix.
func elman(o *Options, matrix weight.Spec) []layer.Spec {
	activation, slope := o.phi()
	return o.recurrent(matrix, layer.ElmanOptions{
		CellOptions: o.cell(), Activation: activation, Slope: slope, Operator: o.Operator, Start: o.matrixStart(),
	})
}

// cell is what all recurrent layers are made with.
func (o *Options) cell() layer.CellOptions {
	return layer.CellOptions{
		Inputs: o.Inputs, FixedStart: o.FixedStart, Every: o.Every, InputScale: o.InputScale,
	}
}

// recurrent is a cell over a square matrix; nil for one that has none of its own.
func (o *Options) recurrent(matrix weight.Spec, cell any) []layer.Spec {
	return []layer.Spec{{Options: cell, Matrix: matrix, Rows: o.Hidden, Cols: o.Hidden}}
}

// matrixStart is the start of the matrix that is asked for; "" is its own.
func (o *Options) matrixStart() weight.Start {
	if asked := o.Text(start.Name); asked != defaultStart {
		return weight.Start(asked)
	}
	return ""
}
