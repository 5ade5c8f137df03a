package system

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/loss"
	"sweep/model/optim"
	"sweep/model/random"
	"sweep/model/weight"
	"sweep/sweep"
)

// The shape of the networks of TestReference, and its rates.
const (
	units, inputs, outputs = 5, 2, 3
	steps, batch           = 4, 3

	learningRate  = .5
	factorOfRate  = 3.
	sigmaDistance = .1
	sigmaCenter   = 1.1
	sigmaLambda   = .25
)

// reference is an Elman network with an output layer, written out in gonum from the
// equations, and its gradients:
//
//	h(t) = relu(W h(t-1) + M x(t) + b)      logits = Y h(T) + c
//
// All values and gradients are by the names and in the shapes of the arena: M is
// transposed.
type reference struct {
	values, gradients map[string]*mat.Dense
	// W is a parameter, or U Σ Vᵀ with σ a parameter or 2r (sigmoid(σ̂) - ½) + σ*.
	factorized, clipped bool
}

// normal returns a matrix of normal numbers.
func normal(rows, cols int, scale float64, source *random.Source) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	m.Apply(func(int, int, float64) float64 { return scale * source.Normal() }, m)
	return m
}

func eye(n int) *mat.Dense {
	m := mat.NewDense(n, n, nil)
	for i := range n {
		m.Set(i, i, 1)
	}
	return m
}

func product(factors ...mat.Matrix) *mat.Dense {
	p := mat.DenseCopyOf(factors[0])
	for _, f := range factors[1:] {
		var next mat.Dense
		next.Mul(p, f)
		p = &next
	}
	return p
}

func newReference(factorized, clipped bool) *reference {
	source := random.New(11, 0)
	r := &reference{factorized: factorized, clipped: clipped, values: map[string]*mat.Dense{
		"M": normal(inputs, units, .8, source), "b": normal(1, units, .3, source), "h0": normal(1, units, .7, source),
		"Y": normal(outputs, units, .7, source), "c": normal(1, outputs, .3, source),
	}}
	if !factorized {
		r.values["W"] = eye(units)
		return r
	}
	for _, name := range []string{"U", "V"} {
		var qr mat.QR
		var q mat.Dense
		qr.Factorize(normal(units, units, 1, source))
		qr.QTo(&q)
		r.values[name] = &q
	}
	if sigma := normal(1, units, 1, source); clipped {
		sigma.Apply(func(_, _ int, x float64) float64 { return sigmaCenter + sigmaDistance*math.Tanh(x) }, sigma)
		r.values["sigma"] = sigma
	} else {
		r.values["sigma_hat"] = sigma
	}
	return r
}

// singular returns Σ and the diagonal of ∂σ/∂σ̂.
func (r *reference) singular() (sigma *mat.DiagDense, slope []float64) {
	sigma, slope = mat.NewDiagDense(units, nil), make([]float64, units)
	for i := range units {
		if r.clipped {
			sigma.SetDiag(i, r.values["sigma"].At(0, i))
			slope[i] = 1
			continue
		}
		s := 1 / (1 + math.Exp(-r.values["sigma_hat"].At(0, i)))
		sigma.SetDiag(i, 2*sigmaDistance*(s-.5)+sigmaCenter)
		slope[i] = 2 * sigmaDistance * s * (1 - s)
	}
	return sigma, slope
}

// differentiate computes logits, the mean cross-entropy and all gradients. x has a
// matrix [batch × inputs] for each step.
func (r *reference) differentiate(x []*mat.Dense, classes []int) (logits *mat.Dense, mean float64) {
	w := r.values["W"]
	var sigma *mat.DiagDense
	var slope []float64
	if r.factorized {
		sigma, slope = r.singular()
		w = product(r.values["U"], sigma, r.values["V"].T())
	}
	r.gradients = map[string]*mat.Dense{}
	for name, v := range r.values {
		rows, cols := v.Dims()
		r.gradients[name] = mat.NewDense(rows, cols, nil)
	}
	add := func(name string, m mat.Matrix) { r.gradients[name].Add(r.gradients[name], m) }
	addRows := func(name string, m *mat.Dense) {
		for b := range batch {
			add(name, m.Slice(b, b+1, 0, m.RawMatrix().Cols))
		}
	}

	h := mat.NewDense(batch, units, nil)
	for b := range batch {
		h.SetRow(b, r.values["h0"].RawRowView(0))
	}
	states := []*mat.Dense{h}
	for _, x := range x {
		var next mat.Dense
		next.Add(product(states[len(states)-1], w.T()), product(x, r.values["M"]))
		next.Apply(func(_, j int, z float64) float64 { return max(0, z+r.values["b"].At(0, j)) }, &next)
		states = append(states, &next)
	}
	logits = product(states[steps], r.values["Y"].T())
	dlogits := mat.NewDense(batch, outputs, nil)
	for b, class := range classes {
		sum := 0.
		for j := range outputs {
			logits.Set(b, j, logits.At(b, j)+r.values["c"].At(0, j))
			sum += math.Exp(logits.At(b, j))
		}
		mean += (math.Log(sum) - logits.At(b, class)) / batch
		for j := range outputs {
			d := math.Exp(logits.At(b, j)) / sum
			if j == class {
				d--
			}
			dlogits.Set(b, j, d/batch)
		}
	}

	add("Y", product(dlogits.T(), states[steps]))
	addRows("c", dlogits)
	dh, dw := product(dlogits, r.values["Y"]), mat.NewDense(units, units, nil)
	for t := steps; t > 0; t-- {
		delta := mat.DenseCopyOf(dh)
		delta.Apply(func(b, j int, d float64) float64 {
			if states[t].At(b, j) > 0 {
				return d
			}
			return 0
		}, delta)
		dw.Add(dw, product(delta.T(), states[t-1]))
		add("M", product(x[t-1].T(), delta))
		addRows("b", delta)
		dh = product(delta, w)
	}
	addRows("h0", dh)

	if !r.factorized {
		add("W", dw)
		return logits, mean
	}
	// d(U Σ Vᵀ) = dU Σ Vᵀ + U dΣ Vᵀ + U Σ dVᵀ
	u, v := r.values["U"], r.values["V"]
	add("U", product(dw, v, sigma))
	add("V", product(dw.T(), u, sigma))
	dsigma := product(u.T(), dw, v)
	name := "sigma_hat"
	if r.clipped {
		name = "sigma"
	}
	for i := range units {
		r.gradients[name].Set(0, i, (dsigma.At(i, i)+2*sigmaLambda*(sigma.At(i, i)-sigmaCenter))*slope[i])
	}
	return logits, mean
}

// step moves all parameters along their gradients: U and V by Cayley's transform,
// the others straight.
func (r *reference) step(t *testing.T) {
	for name, v := range r.values {
		g := r.gradients[name]
		if name != "U" && name != "V" {
			var move mat.Dense
			move.Scale(learningRate, g)
			v.Sub(v, &move)
			continue
		}
		var a, plus, minus, moved mat.Dense
		a.Sub(product(g, v.T()), product(v, g.T()))
		a.Scale(factorOfRate*learningRate/2, &a)
		plus.Add(eye(units), &a)
		minus.Sub(eye(units), &a)
		if err := moved.Solve(&plus, product(&minus, v)); err != nil {
			t.Fatal(err)
		}
		v.Copy(&moved)
	}
	if r.clipped {
		sigma := r.values["sigma"]
		sigma.Apply(func(_, _ int, x float64) float64 {
			return min(max(x, sigmaCenter-sigmaDistance), sigmaCenter+sigmaDistance)
		}, sigma)
	}
}

// TestReference compares the networks whose values the files of golden values lack
// with the reference: outputs, loss, gradients, and the parameters after steps. The
// second step starts from a W that is neither the identity nor symmetric.
func TestReference(t *testing.T) {
	for _, c := range []struct {
		name, system string
		parameters   sweep.Parameters
	}{
		{"irnn", "irnn", sweep.Parameters{"start": "identity"}},
		{"factorized-rnn, sigmoid", "factorized-rnn", sweep.Parameters{"sigma": "sigmoid"}},
		{"factorized-rnn, clip", "factorized-rnn", sweep.Parameters{"sigma": "clip"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			compareReference(t, c.system, c.parameters)
		})
	}
}

func compareReference(t *testing.T, name string, parameters sweep.Parameters) {
	s := Find(name)
	o := &Options{Hidden: units, Inputs: inputs, InputScale: 1}
	o.Parameters = sweep.Parameters{"activation": "relu"}
	for _, p := range s.Parameters {
		if _, ok := o.Parameters[p.Name]; !ok {
			o.Parameters[p.Name] = p.Default
		}
	}
	if name == "factorized-rnn" {
		o.Parameters["sigma_penalty"], o.Parameters["factor_rate"] = sigmaLambda, factorOfRate
		o.Parameters["radius"], o.Parameters["sigma_center"] = sigmaDistance, sigmaCenter
	}
	for key, value := range parameters {
		o.Parameters[key] = value
	}
	if err := s.Check(o); err != nil {
		t.Fatal(err)
	}
	set, arena := kernel.Float64(), weight.NewArena[float64]()
	specs, err := s.Layers(o)
	if err != nil {
		t.Fatal(err)
	}
	layers, _, err := layer.Declare(set, arena, specs)
	if err != nil {
		t.Fatal(err)
	}
	y, err := weight.NewDense(set, arena, "Y", outputs, units)
	if err != nil {
		t.Fatal(err)
	}
	head, err := layer.NewAffine(set, arena, y, layer.AffineOptions{Bias: "c"})
	if err != nil {
		t.Fatal(err)
	}
	stack := layer.NewStack(append(layers, head)...)
	arena.Allocate()
	if err := stack.Init(t.Context(), random.New(1, 0)); err != nil {
		t.Fatal(err)
	}
	r := newReference(name == "factorized-rnn", parameters["sigma"] == "clip")
	if len(arena.Views()) != len(r.values) {
		t.Fatalf("the network has %d tensors, the reference %d", len(arena.Views()), len(r.values))
	}
	compare := func(what string, want *mat.Dense, got []float64) {
		t.Helper()
		// The comparison is by element, so that a transposed matrix shows.
		if !slices.EqualFunc(want.RawMatrix().Data, got, func(a, b float64) bool { return math.Abs(a-b) <= 1e-10 }) {
			t.Errorf("%s: %v\nwant %v", what, got, want.RawMatrix().Data)
		}
	}
	for _, v := range arena.Views() {
		want := r.values[v.Name]
		if want == nil {
			t.Fatalf("the reference has no tensor %s", v.Name)
		}
		if v.Name == "W" {
			compare("the start of W", want, v.Value)
		}
		copy(v.Value, want.RawMatrix().Data)
	}

	source := random.New(12, 0)
	in := layer.Input[float64]{Steps: steps, Batch: batch, X: kernel.NewMatrix[float64](steps*batch, inputs)}
	var x []*mat.Dense
	for i := range steps {
		m := normal(batch, inputs, 1, source)
		copy(in.X.Data[i*batch*inputs:], m.RawMatrix().Data)
		x = append(x, m)
	}
	classes := []int{2, 0, 1}
	objective, err := loss.New(set, "cross_entropy")
	if err != nil {
		t.Fatal(err)
	}
	optimizer, err := optim.New(set, arena, optim.Options{Rule: weight.RuleSGD})
	if err != nil {
		t.Fatal(err)
	}
	pass := stack.NewPass(layer.Limits{Steps: steps, Batch: batch})
	for range 3 {
		logits, mean := r.differentiate(x, classes)
		arena.ZeroGradients()
		stack.Load()
		out, _ := pass.Forward(in, nil, true)
		var flat []float64
		for b := range batch {
			flat = append(flat, out.Row(b)...)
		}
		compare("outputs", logits, flat)
		score := objective.Gradient(out, loss.Targets[float64]{Classes: classes}, batch)
		if got := score.Mean(); !(math.Abs(got-mean) <= 1e-10) {
			t.Errorf("loss %v, want %v", got, mean)
		}
		pass.Backward(out, nil, kernel.Matrix[float64]{})
		stack.Join(1)
		for _, v := range arena.Views() {
			compare("gradient of "+v.Name, r.gradients[v.Name], v.Gradient)
		}
		r.step(t)
		optimizer.Step(learningRate)
		stack.Constrain(learningRate)
		for _, v := range arena.Views() {
			compare(v.Name+" after the step", r.values[v.Name], v.Value)
		}
	}
}
