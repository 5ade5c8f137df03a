package cell

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/model/kernel"
	"sweep/model/optim"
)

// golden is a file of reference values, written by another program.
type golden struct {
	Cases []goldenCase `json:"cases"`
}

type goldenCase struct {
	Cell   string `json:"cell"`
	Config struct {
		N          int     `json:"n"`
		Inputs     int     `json:"ni"`
		Outputs    int     `json:"ny"`
		Steps      int     `json:"T"`
		Batch      int     `json:"B"`
		Activation string  `json:"activation"`
		Leak       float64 `json:"leak"`
		Loss       string  `json:"loss"`
		M1         int     `json:"m1"`
		M2         int     `json:"m2"`
		Radius     float64 `json:"r"`
	} `json:"config"`
	Parameters map[string]tensor `json:"parameters"`
	X          [][][]float64     `json:"x"`
	Y          json.RawMessage   `json:"y"`
	Outputs    [][]float64       `json:"outputs"`
	Loss       float64           `json:"loss"`
	Gradients  map[string]tensor `json:"gradients"`
	AdamLosses []float64         `json:"adam_losses"`
}

// tensor is a matrix; a vector has one row.
type tensor [][]float64

func (t *tensor) UnmarshalJSON(data []byte) error {
	var matrix [][]float64
	if err := json.Unmarshal(data, &matrix); err == nil {
		*t = matrix
		return nil
	}
	var vector []float64
	err := json.Unmarshal(data, &vector)
	*t = tensor{vector}
	return err
}

// readGolden returns the reference values, or skips the test if they are not
// there and no file was asked for.
func readGolden(t *testing.T) golden {
	path := os.Getenv("SWEEP_TEST_GOLDEN")
	asked := path != ""
	if !asked {
		path = filepath.Join(moduleRoot(t), "..", "shared", "golden", "cells.json")
	}
	data, err := os.ReadFile(path)
	if !asked && errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the reference values are not there: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(g.Cases) == 0 {
		t.Fatalf("%s has no cases", path)
	}
	return g
}

func moduleRoot(t *testing.T) string {
	directory, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(directory, "go.mod")); err == nil {
			return directory
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			t.Fatal("no go.mod above the test")
		}
		directory = parent
	}
}

// part is where a tensor of the golden file is in a view: columns from first on
// of the view's matrix, which is the tensor's transpose if transposed.
type part struct {
	view       string
	first      int
	transposed bool
}

// locate maps a name of the golden file to its place.
func locate(cell, name string, n int) part {
	base, gate, gated := strings.Cut(name, "_")
	switch {
	case cell == "lstm" && gated:
		return part{view: base, first: n * strings.Index("ifco", gate), transposed: base != "b"}
	case cell == "gru" && gated && gate == "h":
		return part{view: name, transposed: base != "b"}
	case cell == "gru" && gated:
		return part{view: base + "_zr", first: n * strings.Index("zr", gate), transposed: base != "b"}
	case name == "M":
		return part{view: name, transposed: true}
	}
	return part{view: name}
}

// element returns the index in a view of shape v of the place where
// element (i, j) of the golden tensor is.
func (p part) element(v viewShape, i, j int) int {
	if p.transposed {
		i, j = j, i
	}
	return i*v.cols + p.first + j
}

type viewShape struct{ rows, cols int }

func known(cell string) bool {
	switch cell {
	case "rnn", "ornn", "spectral-rnn", "lstm", "gru":
		return true
	}
	return false
}

func TestGolden(t *testing.T) {
	for i, c := range readGolden(t).Cases {
		if !known(c.Cell) {
			t.Logf("case %d left out: there is no cell %q", i, c.Cell)
			continue
		}
		paths := []Path{""}
		if c.Config.M1 > 0 {
			paths = []Path{PathFormed, PathThin}
		}
		for _, path := range paths {
			name := c.Cell + string(path) + "/" + c.Config.Activation + "," + c.Config.Loss
			t.Run(name+"/float64", func(t *testing.T) { compareGolden(t, kernel.Float64(), c, path, 1e-11) })
			for _, level := range kernel.Levels() {
				set, err := kernel.Float32At(level)
				if err != nil {
					t.Fatal(err)
				}
				t.Run(name+"/float32,"+level.String(), func(t *testing.T) { compareGolden(t, set, c, path, 1e-5) })
			}
		}
	}
}

// compareGolden holds outputs, loss, gradients and the losses of ten Adam steps
// against a case. The error of a tensor is its largest absolute difference over
// the largest absolute value of the reference.
func compareGolden[F kernel.Float](t *testing.T, set *kernel.Set[F], c goldenCase, path Path, tolerance float64) {
	activation, err := kernel.ParseActivation(c.Config.Activation)
	if err != nil {
		t.Fatal(err)
	}
	s := shape{
		cell: c.Cell, n: c.Config.N, inputs: c.Config.Inputs, outputs: c.Config.Outputs,
		steps: c.Config.Steps, batch: c.Config.Batch, activation: activation, slope: c.Config.Leak,
		m1: c.Config.M1, m2: c.Config.M2, radius: c.Config.Radius, path: path,
	}
	n := newNetwork(t, set, s, 1)
	loaded := 0
	for name, parameter := range c.Parameters {
		p := locate(c.Cell, name, s.n)
		v := n.arena.View(p.view)
		if v == nil {
			t.Fatalf("parameter %s: no tensor %s", name, p.view)
		}
		for i, row := range parameter {
			for j, x := range row {
				v.Value[p.element(viewShape{v.Rows, v.Cols}, i, j)] = F(x)
				loaded++
			}
		}
	}
	if loaded != n.arena.Count() {
		t.Fatalf("the case has %d parameters, the network %d", loaded, n.arena.Count())
	}
	d := goldenData[F](t, s, c)

	check := func(what string, want, got []float64) {
		t.Helper()
		largest, difference := 0.0, 0.0
		for i, w := range want {
			largest = max(largest, math.Abs(w))
			difference = max(difference, math.Abs(w-got[i]))
			if math.IsNaN(got[i]) {
				difference = math.NaN()
			}
		}
		// The gradients of u1 and v1 are exactly 0.
		if largest < 1e-12 {
			largest = 1
		}
		if relative := difference / largest; !(relative <= tolerance) {
			t.Errorf("%s: relative error %.2g", what, relative)
		}
	}

	loss := n.gradients(d)
	var want, got []float64
	for i, row := range c.Outputs {
		want = append(want, row...)
		for _, x := range n.head.logits.Row(i) {
			got = append(got, float64(x))
		}
	}
	check("outputs", want, got)
	check("loss", []float64{c.Loss}, []float64{loss})
	for name, gradient := range c.Gradients {
		p := locate(c.Cell, name, s.n)
		v := n.arena.View(p.view)
		want, got = nil, nil
		for i, row := range gradient {
			for j, x := range row {
				want = append(want, x)
				got = append(got, float64(v.Gradient[p.element(viewShape{v.Rows, v.Cols}, i, j)]))
			}
		}
		check("gradient of "+name, want, got)
	}

	adam, err := optim.NewAdam(set, n.arena.Values(), n.arena.Gradients(), optim.DefaultAdam())
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range c.AdamLosses {
		got := n.gradients(d)
		if relative := math.Abs(got-want) / math.Abs(want); !(relative <= tolerance) {
			t.Errorf("loss before Adam step %d: %v, want %v, relative error %.2g", step+1, got, want, relative)
		}
		adam.Step(.01)
	}
}

func goldenData[F kernel.Float](t *testing.T, s shape, c goldenCase) data[F] {
	d := data[F]{x: newMatrix[F](s.steps*s.batch, s.inputs)}
	for step, batch := range c.X {
		for b, inputs := range batch {
			for i, x := range inputs {
				d.x.Row(step*s.batch + b)[i] = F(x)
			}
		}
	}
	if c.Config.Loss == "cross_entropy" {
		if err := json.Unmarshal(c.Y, &d.labels); err != nil {
			t.Fatal(err)
		}
		return d
	}
	var targets [][]float64
	if err := json.Unmarshal(c.Y, &targets); err != nil {
		t.Fatal(err)
	}
	d.targets = newMatrix[F](s.batch, s.outputs)
	for b, row := range targets {
		for i, y := range row {
			d.targets.Row(b)[i] = F(y)
		}
	}
	return d
}
