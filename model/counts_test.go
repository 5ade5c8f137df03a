package model

import (
	"testing"

	"sweep/model/system"
	"sweep/model/weight"
	"sweep/sweep"
)

// counts are the numbers of weights of each system's layers, without the output layer, by its
// source's formula.
var counts = map[string]func(o *system.Options) int{
	"rnn":  denseElmanCount,
	"irnn": denseElmanCount,
	"lstm": func(o *system.Options) int { return 4*(o.Inputs+o.Hidden+1)*o.Hidden + stateCount(o, 2) },
	"gru":  func(o *system.Options) int { return 3*(o.Inputs+o.Hidden+1)*o.Hidden + stateCount(o, 1) },
	"ornn": func(o *system.Options) int { return elmanCount(o, reflectorCount(o.Hidden, o.Integer("m1"))) },
	"spectral-rnn": func(o *system.Options) int {
		u, v := reflectorCount(o.Hidden, o.Integer("m1")), reflectorCount(o.Hidden, o.Integer("m2"))
		return elmanCount(o, u+v+o.Hidden)
	},
	"gated-spectral-rnn": func(o *system.Options) int {
		u, v := reflectorCount(o.Hidden, o.Integer("m1")), reflectorCount(o.Hidden, o.Integer("m2"))
		return elmanCount(o, u+v+o.Hidden) + (o.Inputs+o.Hidden+1)*o.Hidden
	},
	"spectral-lstm": func(o *system.Options) int {
		u, v := reflectorCount(o.Hidden, o.Integer("m1")), reflectorCount(o.Hidden, o.Integer("m2"))
		return 4*(u+v+o.Hidden) + 4*(o.Inputs+1)*o.Hidden + stateCount(o, 2)
	},
	"factorized-rnn": func(o *system.Options) int { return elmanCount(o, (2*o.Hidden+1)*o.Hidden) },
	"urnn":           func(o *system.Options) int { return complexCount(o, 3*o.Hidden+2*2*o.Hidden) }, // ω and v
	"fc-urnn":        func(o *system.Options) int { return complexCount(o, o.Hidden*o.Hidden) },
	"vprnn":          func(o *system.Options) int { return elmanCount(o, rotationCount(o)) },
	"fastrnn":        func(o *system.Options) int { return denseElmanCount(o) + 2 },
	"sgornn": func(o *system.Options) int {
		switch o.Text("map") {
		case "householder":
			return elmanCount(o, reflectorCount(o.Hidden, o.Integer("m1"))) + 2
		case "exp":
			return elmanCount(o, o.Hidden*(o.Hidden-1)/2) + 2
		default:
			return elmanCount(o, rotationCount(o)) + 2
		}
	},
	"mlp":             denseCount,
	"resnet":          denseCount,
	"spectral-mlp":    spectralCount,
	"spectral-resnet": spectralCount,
}

// elmanCount is the number of weights of an Elman cell whose matrix has so many: M, b and, if it
// is trained, h(0) besides.
func elmanCount(o *system.Options, matrix int) int {
	return matrix + (o.Inputs+1)*o.Hidden + stateCount(o, 1)
}

// complexCount is the number of weights of a cell of complex numbers whose matrix has so many: M and
// h(0) are complex, the bias of modReLU is real.
func complexCount(o *system.Options, matrix int) int {
	return matrix + 2*o.Inputs*o.Hidden + stateCount(o, 2) + o.Hidden
}

func denseElmanCount(o *system.Options) int { return elmanCount(o, o.Hidden*o.Hidden) }

// stateCount is the number of weights of so many states before the first step.
func stateCount(o *system.Options, states int) int {
	if o.FixedStart {
		return 0
	}
	return states * o.Hidden
}

// reflectorCount is the number of weights of m reflectors of dimension n, which are
// n, n-1, … long.
func reflectorCount(n, m int) int { return m*n - m*(m-1)/2 }

// rotationCount is the number of angles.
func rotationCount(o *system.Options) int { return o.Hidden / 2 * weight.RotationSteps(o.Hidden) }

// denseCount and spectralCount are the numbers of weights of all layers.
func denseCount(o *system.Options) int {
	return (o.Inputs+1)*o.Hidden + (o.Integer("layers")-1)*(o.Hidden+1)*o.Hidden
}

func spectralCount(o *system.Options) int {
	k, n := min(o.Inputs, o.Hidden), o.Hidden
	first := reflectorCount(n, k) + reflectorCount(o.Inputs, k) + k + n
	other := reflectorCount(n, o.Integer("m1")) + reflectorCount(n, o.Integer("m2")) + 2*n
	return first + (o.Integer("layers")-1)*other
}

// countOf is the number of weights of a system's layers.
func countOf(t *testing.T, s *system.System, o *system.Options) int {
	t.Helper()
	count := counts[s.Name]
	if count == nil {
		t.Fatalf("no formula of the number of weights of %s", s.Name)
	}
	n := count(o)
	if err := o.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// The formulas give the counts of the SGORNN paper, tables 1 to 3: 128 units and two inputs, nine,
// and the cells alone of 256 units with embeddings as wide.
func TestPublishedFormulas(t *testing.T) {
	for name, want := range map[string][3]int{
		"vprnn": {1409, 2305, 67840}, "fastrnn": {16899, 17795, 131330}, "sgornn": {1411, 2307, 67842},
		"lstm": {67201, 0, 525312},
	} {
		for i, shape := range []struct{ hidden, inputs, head int }{{128, 2, 128 + 1}, {128, 9, 128 + 1},
			{256, 256, 0}} {
			o := &system.Options{Hidden: shape.hidden, Inputs: shape.inputs, FixedStart: true}
			o.Parameters = sweep.Parameters{"map": "rotations"}
			if got := countOf(t, system.Find(name), o) + shape.head; got != want[i] && want[i] != 0 {
				t.Errorf("%s, %d units and %d inputs: %d weights, published are %d", name, shape.hidden, shape.inputs,
					got, want[i])
			}
		}
	}
}
