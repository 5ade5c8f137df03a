package layer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sweep/model/kernel"
	"sweep/model/loss"
	"sweep/model/optim"
	"sweep/model/weight"
)

// networkCase is one cell with an output layer, or one network, of a file of reference values.
type networkCase struct {
	Cell   string `json:"cell"`
	Config struct {
		N          int             `json:"n"`
		Words      int             `json:"V"`
		Embedding  int             `json:"d"`
		Inputs     int             `json:"ni"`
		Outputs    int             `json:"ny"`
		Steps      int             `json:"T"`
		Batch      int             `json:"B"`
		Activation string          `json:"activation"`
		Leak       float64         `json:"leak"`
		Loss       string          `json:"loss"`
		Map        string          `json:"map"`
		Start      string          `json:"h0"`
		M1         json.RawMessage `json:"m1"`
		M2         json.RawMessage `json:"m2"`
		Radius     float64         `json:"r"`
		Center     float64         `json:"sigma_star"`
		Widths     []int           `json:"widths"`
	} `json:"config"`
	Permutations [][]int           `json:"permutations"`
	Parameters   map[string]tensor `json:"parameters"`
	X            json.RawMessage   `json:"x"`
	Before       json.RawMessage   `json:"x_before"`
	State        map[string]tensor `json:"state"`
	StateAfter   map[string]tensor `json:"state_after"`
	Y            json.RawMessage   `json:"y"`
	Outputs      json.RawMessage   `json:"outputs"`
	Loss         float64           `json:"loss"`
	Gradients    map[string]tensor `json:"gradients"`
	Whole        map[string]tensor `json:"gradients_whole"`
	AdamLosses   []float64         `json:"adam_losses"`
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

// buildable are the networks that the layers of this package can make.
var buildable = []string{
	"rnn", "ornn", "spectral-rnn", "lstm", "gru", "fastrnn",
	"lm", "vprnn", "sgornn", "lstm2", "spectral-rnn2", "mlp", "resnet", "spectral-mlp", "spectral-resnet",
}

// TestGolden holds cells with an output layer to the values of another program, by
// every kind of operator.
func TestGolden(t *testing.T) {
	eachGolden(t, "SWEEP_TEST_GOLDEN", "cells.json", goldenTolerance{1e-11, 1e-5, 0})
}

// TestGoldenNetworks holds whole networks to the values of another program. The
// gradient of a short reflector is a small difference of large numbers: in float32 it
// is held to a hundredth of the largest of all gradients.
func TestGoldenNetworks(t *testing.T) {
	eachGolden(t, "SWEEP_TEST_GOLDEN_NETWORKS", "networks.json", goldenTolerance{1e-9, 5e-5, .01})
}

// goldenTolerance is the largest difference from the reference values, relative to the
// largest of a tensor, or in float32 to a share of the largest of all gradients.
type goldenTolerance struct{ float64, float32, share float64 }

// eachGolden compares the cases of the file that the environment variable names, or of
// the shared one, and is skipped if that is not there.
func eachGolden(t *testing.T, variable, shared string, tolerance goldenTolerance) {
	path := os.Getenv(variable)
	asked := path != ""
	if !asked {
		path = filepath.Join(moduleRoot(t), "..", "shared", "golden", shared)
	}
	data, err := os.ReadFile(path)
	if !asked && errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the reference values are not there: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []networkCase `json:"cases"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(file.Cases) == 0 {
		t.Fatalf("%s has no cases", path)
	}
	for i, c := range file.Cases {
		name := fmt.Sprintf("%d %s", i, c.Cell)
		if !slices.Contains(buildable, c.Cell) {
			t.Errorf("%s: there are no such layers", name)
			continue
		}
		kinds := []OperatorKind{""}
		if c.Cell == "ornn" || strings.HasPrefix(c.Cell, "spectral") {
			kinds = []OperatorKind{OperatorDense, OperatorCompactWY}
		}
		for _, kind := range kinds {
			t.Run(name+string(kind)+"/float64", func(t *testing.T) {
				compareNetwork(t, kernel.Float64(), c, kind, tolerance.float64, 0)
			})
			for _, level := range kernel.Levels() {
				set, err := kernel.Float32At(level)
				if err != nil {
					t.Fatal(err)
				}
				t.Run(name+string(kind)+"/float32,"+level.String(), func(t *testing.T) {
					compareNetwork(t, set, c, kind, tolerance.float32, tolerance.share)
				})
			}
		}
	}
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

// number is an integer, or that of a layer in a list.
func number(t *testing.T, raw json.RawMessage, layer int) int {
	t.Helper()
	var one int
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var list []int
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list[layer]
}

// stackOf declares the case's layers.
func stackOf[F kernel.Float](t *testing.T, set *kernel.Set[F], arena *weight.Arena[F], c networkCase,
	kind OperatorKind) *Stack[F] {
	t.Helper()
	activation, err := kernel.ParseActivation(c.Config.Activation)
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	matrix := func(m weight.Matrix[F], err error) weight.Matrix[F] {
		failed = errors.Join(failed, err)
		return m
	}
	var layers []Layer[F]
	add := func(l Layer[F], err error) {
		t.Helper()
		if failed = errors.Join(failed, err); failed != nil {
			t.Fatal(failed)
		}
		layers = append(layers, l)
	}
	svd := func(number, rows, cols, m1, m2 int) weight.Matrix[F] {
		options := weight.SVDOptions{Left: m1, Right: m2, Radius: c.Config.Radius, Center: c.Config.Center}
		if number == 0 {
			options.Center = 1
		}
		return matrix(weight.NewSVD(set, arena, rows, cols, options))
	}
	n, fixed := c.Config.N, c.Config.Start == "zero"
	cell := CellOptions{Inputs: c.Config.Inputs, FixedStart: fixed}
	elman := ElmanOptions{CellOptions: cell, Activation: activation, Slope: c.Config.Leak, Operator: kind}
	width := n
	switch c.Cell {
	case "rnn":
		add(NewElman(set, arena, matrix(weight.NewDense(set, arena, "W", n, n)), elman))
	case "ornn":
		add(NewElman(set, arena, matrix(weight.NewHouseholder(set, arena, n, n, number(t, c.Config.M1, 0))), elman))
	case "spectral-rnn":
		add(NewElman(set, arena, svd(0, n, n, number(t, c.Config.M1, 0), number(t, c.Config.M2, 0)), elman))
	case "lstm":
		add(NewLSTM(set, arena, LSTMOptions{CellOptions: cell, Size: n}))
	case "lm":
		add(NewEmbedding(set, arena, c.Config.Words, c.Config.Embedding, 0))
		cell.Inputs, cell.Every = c.Config.Embedding, true
		add(NewLSTM(set, arena, LSTMOptions{CellOptions: cell, Size: n}))
	case "gru":
		add(NewGRU(set, arena, GRUOptions{CellOptions: cell, Size: n}))
	case "vprnn":
		add(NewElman(set, arena, matrix(weight.NewRotations(set, arena, n, c.Permutations, 0)), elman))
	case "sgornn", "fastrnn":
		var u weight.Matrix[F]
		switch {
		case c.Cell == "fastrnn":
			u = matrix(weight.NewDense(set, arena, "W", n, n))
		case c.Config.Map == "householder":
			u = matrix(weight.NewHouseholder(set, arena, n, n, number(t, c.Config.M1, 0)))
		case c.Config.Map == "exp":
			u = matrix(weight.NewExponential(arena, n))
		default:
			u = matrix(weight.NewRotations(set, arena, n, c.Permutations, 0))
		}
		add(NewScalarGated(set, arena, u, ScalarGatedOptions{CellOptions: cell, Activation: activation,
			Slope: c.Config.Leak, Bound: c.Cell == "sgornn"}))
	case "lstm2", "spectral-rnn2":
		for i, inputs := range []int{c.Config.Inputs, n} {
			arena.SetPrefix(fmt.Sprintf("%d.", i))
			if c.Cell == "lstm2" {
				cell.Inputs, cell.Every = inputs, i == 0
				add(NewLSTM(set, arena, LSTMOptions{CellOptions: cell, Size: n}))
				continue
			}
			elman.Inputs, elman.Every = inputs, i == 0
			add(NewElman(set, arena, svd(i+1, n, n, number(t, c.Config.M1, i), number(t, c.Config.M2, i)), elman))
		}
	default: // feed-forward
		affine := func(i int, activation kernel.Activation) Layer[F] {
			arena.SetPrefix(fmt.Sprintf("%d.", i))
			rows, cols := c.Config.Widths[i+1], c.Config.Widths[i]
			var w weight.Matrix[F]
			if strings.HasPrefix(c.Cell, "spectral") {
				w = svd(i, rows, cols, number(t, c.Config.M1, i), number(t, c.Config.M2, i))
			} else {
				w = matrix(weight.NewDense(set, arena, "W", rows, cols))
			}
			options := AffineOptions{Bias: "b", Activation: activation, Slope: c.Config.Leak}
			if rows == cols {
				options.Operator = kind
			}
			l, err := NewAffine(set, arena, w, options)
			failed = errors.Join(failed, err)
			return l
		}
		width = c.Config.Widths[len(c.Config.Widths)-1]
		add(affine(0, activation), nil)
		for i := 1; i+1 < len(c.Config.Widths); i++ {
			if strings.HasSuffix(c.Cell, "mlp") {
				add(affine(i, activation), nil)
				continue
			}
			first := affine(i, activation)
			i++
			add(NewResidual(set, NewStack(first, affine(i, kernel.Linear)), width, activation, c.Config.Leak))
		}
	}
	arena.SetPrefix("")
	add(NewAffine(set, arena, matrix(weight.NewDense(set, arena, "Y", c.Config.Outputs, width)),
		AffineOptions{Bias: "c"}))
	return NewStack(layers...)
}

// place is where a tensor of the case is.
func (c *networkCase) place(name string) part {
	prefix, base := "", name
	if before, after, ok := strings.Cut(name, "."); ok {
		prefix, base = before+".", after
	}
	cell := strings.TrimSuffix(c.Cell, "2")
	if cell == "lm" {
		cell = "lstm"
	}
	p := locate(cell, base, c.Config.N)
	p.view = prefix + p.view
	return p
}

// input reads x: tokens [T][B] of a language model, else as sequences does.
func input[F kernel.Float](t *testing.T, c *networkCase, raw json.RawMessage) Input[F] {
	t.Helper()
	if c.Cell != "lm" {
		return sequences[F](t, raw)
	}
	var tokens [][]int
	if err := json.Unmarshal(raw, &tokens); err != nil {
		t.Fatal(err)
	}
	return Input[F]{Steps: len(tokens), Batch: len(tokens[0]), Tokens: slices.Concat(tokens...)}
}

// sequences reads x, [T][B][n_i] or [B][n_i].
func sequences[F kernel.Float](t *testing.T, raw json.RawMessage) Input[F] {
	t.Helper()
	var steps [][][]float64
	if json.Unmarshal(raw, &steps) != nil {
		steps = make([][][]float64, 1)
		if err := json.Unmarshal(raw, &steps[0]); err != nil {
			t.Fatal(err)
		}
	}
	return inputOf[F](steps)
}

func inputOf[F kernel.Float](steps [][][]float64) Input[F] {
	in := Input[F]{Steps: len(steps), Batch: len(steps[0])}
	in.X = kernel.NewPadded[F](in.Steps*in.Batch, len(steps[0][0]))
	for t, batch := range steps {
		for b, row := range batch {
			for i, x := range row {
				in.X.Row(t*in.Batch + b)[i] = F(x)
			}
		}
	}
	return in
}

// stateOf puts the named parts of a state into their order: layer by layer, h and c.
func stateOf[F kernel.Float](named map[string]tensor) State[F] {
	var s State[F]
	for _, layer := range []string{"", "0.", "1."} {
		for _, name := range []string{"h", "c"} {
			if m, ok := named[layer+name]; ok {
				s = append(s, inputOf[F]([][][]float64{m}).X)
			}
		}
	}
	return s
}

// compareNetwork holds outputs, loss, gradients, the state after and the losses of ten
// Adam steps to a case.
func compareNetwork[F kernel.Float](t *testing.T, set *kernel.Set[F], c networkCase, kind OperatorKind,
	tolerance, share float64) {
	arena := weight.NewArena[F]()
	stack := stackOf(t, set, arena, c, kind)
	arena.Allocate()
	loaded := 0
	for name, parameter := range c.Parameters {
		p := c.place(name)
		v := arena.View(p.view)
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
	if loaded != arena.Count() {
		t.Fatalf("the case has %d parameters, the network %d", loaded, arena.Count())
	}
	in := input[F](t, &c, c.X)
	targets := loss.Targets[F]{}
	if c.Cell == "lm" {
		targets.Classes = input[F](t, &c, c.Y).Tokens
	} else if c.Config.Loss == "cross_entropy" {
		if err := json.Unmarshal(c.Y, &targets.Classes); err != nil {
			t.Fatal(err)
		}
	} else {
		targets.Values = sequences[F](t, c.Y).X
	}
	objective, err := loss.New(set, c.Config.Loss)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, want, got []float64) {
		t.Helper()
		largest, difference := 0.0, 0.0
		for i, w := range want {
			largest, difference = max(largest, math.Abs(w)), max(difference, math.Abs(w-got[i]))
			if math.IsNaN(got[i]) {
				difference = math.NaN()
			}
		}
		// A reflector of one element, and a gate at its bound, have gradients of 0 up to
		// rounding.
		if largest < 1e-12 {
			largest = 1
		}
		if relative := difference / largest; !(relative <= tolerance) {
			t.Errorf("%s: relative error %.2g", what, relative)
		}
	}
	least := 0.0
	for _, gradient := range c.Gradients {
		for _, row := range gradient {
			for _, x := range row {
				least = max(least, share*math.Abs(x))
			}
		}
	}
	checkGradients := func(what string, gradients map[string]tensor) {
		t.Helper()
		for name, gradient := range gradients {
			p := c.place(name)
			v := arena.View(p.view)
			var want, got []float64
			for i, row := range gradient {
				for j, x := range row {
					want, got = append(want, x), append(got,
						float64(v.Gradient[p.element(viewShape{v.Rows, v.Cols}, i, j)]))
				}
			}
			check(what+" of "+name, append(want, least), append(got, least))
		}
	}

	limits := Limits{Steps: in.Steps, Batch: in.Batch}
	pass := stack.NewPass(limits)
	var from State[F]
	if c.State != nil {
		from = stateOf[F](c.State)
	}
	gradients := func() (out kernel.Matrix[F], to State[F], mean float64) {
		arena.ZeroGradients()
		stack.Load()
		logits, to := pass.Forward(in, from, true)
		out = kernel.NewPadded[F](logits.Rows, logits.Cols)
		out.Fill(logits)
		score := objective.Gradient(logits, targets, logits.Rows)
		pass.Backward(logits, nil, kernel.Matrix[F]{})
		stack.Join(1)
		return out, to, score.Mean()
	}
	out, to, mean := gradients()
	flat := func(m kernel.Matrix[F]) (all []float64) {
		for _, x := range elements(m) {
			all = append(all, float64(x))
		}
		return all
	}
	check("outputs", flat(sequences[F](t, c.Outputs).X), flat(out))
	check("loss", []float64{c.Loss}, []float64{mean})
	checkGradients("gradient", c.Gradients)
	if c.StateAfter != nil {
		for i, want := range stateOf[F](c.StateAfter) {
			check(fmt.Sprintf("matrix %d of the state after", i), flat(want), flat(to[i]))
		}
		comparePieces(t, set, stack, arena, c, in, objective, targets, pass, func() {
			checkGradients("gradient through both pieces", c.Whole)
		})
	}

	adam, err := optim.New(set, arena, optim.Options{Rule: weight.RuleAdam,
		Adam: optim.AdamOptions{Beta1: .9, Beta2: .999, Epsilon: 1e-8}})
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range c.AdamLosses {
		_, _, got := gradients()
		if relative := math.Abs(got-want) / math.Abs(want); !(relative <= tolerance) {
			t.Errorf("loss before Adam step %d: %v, want %v, relative error %.2g", step+1, got, want, relative)
		}
		adam.Step(.01)
	}
}

// comparePieces differentiates through the piece before, too.
func comparePieces[F kernel.Float](t *testing.T, set *kernel.Set[F], stack *Stack[F], arena *weight.Arena[F],
	c networkCase, in Input[F],
	objective loss.Loss[F], targets loss.Targets[F], later Pass[F], check func()) {
	t.Helper()
	before := input[F](t, &c, c.Before)
	earlier := stack.NewPass(Limits{Steps: before.Steps, Batch: before.Batch})
	arena.ZeroGradients()
	stack.Load()
	nothing, state := earlier.Forward(before, nil, true)
	for i, want := range stateOf[F](c.State) {
		if largest := set.SumSquares(elements(want)); largest > 0 {
			difference := slices.Clone(elements(want))
			set.Axpy(difference, -1, elements(state[i]))
			if relative := math.Sqrt(set.SumSquares(difference) / largest); !(relative < 1e-5) {
				t.Errorf("matrix %d of the state between: relative error %.2g", i, relative)
			}
		}
	}
	out, _ := later.Forward(in, state, true)
	objective.Gradient(out, targets, out.Rows)
	dfrom := later.Backward(out, nil, kernel.Matrix[F]{})
	nothing.Clear()
	earlier.Backward(nothing, dfrom, kernel.Matrix[F]{})
	stack.Join(2)
	check()
}
