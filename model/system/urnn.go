package system

import (
	"sweep/model/layer"
	"sweep/model/weight"
)

var urnn = System{
	Name: "urnn",
	Doc: "recurrent network of n complex units whose W is the product of diagonals, reflections, Fourier " +
		"transforms and a fixed permutation, D₃ R₂ F⁻¹ D₂ Π R₁ F D₁, with modReLU; Wisdom et al. 2016 call it " +
		"RC uRNN",
	Source: "Arjovsky, Shah and Bengio 2016, eq. 7 and 8; Zhang, Lei and Dhillon 2018, table 2",
	width:  complexWidth,
	layers: func(o *Options) []layer.Spec { return complexCell(o, weight.UnitarySpec{Seed: o.Seed}) },
}

// complexWidth is the real and the imaginary parts.
func complexWidth(hidden int) int { return 2 * hidden }

// complexCell is a cell of complex numbers over a matrix of their real and imaginary parts.
func complexCell(o *Options, matrix weight.Spec) []layer.Spec {
	return []layer.Spec{{
		Options: layer.ModReLUOptions{CellOptions: o.cell(), Operator: o.Operator},
		Matrix:  matrix, Rows: 2 * o.Hidden, Cols: 2 * o.Hidden,
	}}
}
