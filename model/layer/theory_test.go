package layer

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// These tests hold the cells to what Zhang, Lei, Dhillon (2018) and the SGORNN paper prove of them.

// jacobian is ∂h(T)/∂h(0) along one random sequence: a minibatch of n equal rows, of which each gets a
// unit vector for the gradient of h(T).
func jacobian(t *testing.T, s shape, prepare func(n *single[float64])) *mat.Dense {
	t.Helper()
	s.batch, s.inputs = s.n, 2
	n := newSingle(t, kernel.Float64(), s, 3)
	prepare(n)
	d := newData[float64](s, 4)
	for i := range d.x.Rows {
		copy(d.x.Row(i), d.x.Row(i/s.batch*s.batch))
	}
	d.weights.Clear()
	for i := range s.n {
		d.weights.Row(i)[i] = 1
	}
	n.arena.ZeroGradients()
	n.layer.Load()
	n.run(d.x, true)
	from := n.pass.Backward(d.weights, nil, kernel.Matrix[float64]{})
	j := mat.NewDense(s.n, s.n, nil)
	for i := range s.n {
		j.SetRow(i, from[0].Row(i))
	}
	return j
}

func singularValues(m mat.Matrix) []float64 {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		return []float64{math.NaN()}
	}
	return svd.Values(nil)
}

// TestJacobian is the slides' conclusion from the gradients of Spectral-RNN: the singular values of
// ∂h(T)/∂h(0) are within [(min |φ'| (1 - r))^T, (1 + r)^T]. ReLU, with min |φ'| = 0, has the upper bound
// alone. Where all σ are at an end of their interval and φ is linear, all are at that bound.
func TestJacobian(t *testing.T) {
	const r, tolerance = .1, 1e-9
	for _, c := range []struct {
		activation kernel.Activation
		slope      float64 // min |φ'|
	}{{kernel.Linear, 1}, {kernel.LeakyReLU, .2}, {kernel.ReLU, 0}} {
		for _, steps := range []int{1, 12, 60} {
			s := shape{cell: "spectral-rnn", n: 12, m1: 12, m2: 5, steps: steps, radius: r, activation: c.activation,
				slope: c.slope}
			for _, hat := range []float64{0, 40, -40} { // random, and both ends
				values := singularValues(jacobian(t, s, func(n *single[float64]) {
					if hat != 0 {
						for i := range s.n {
							n.arena.View("sigma_hat").Value[i] = hat
						}
					}
				}))
				low, high := math.Pow(c.slope*(1-r), float64(steps)), math.Pow(1+r, float64(steps))
				if c.activation == kernel.Linear && hat > 0 {
					low = high
				} else if c.activation == kernel.Linear && hat < 0 {
					high = low
				}
				if largest := values[0]; !(largest <= high*(1+tolerance)) {
					t.Errorf("%v, T %d, σ̂ %v: the largest singular value is %g, at most %g is proved", c.activation, steps,
						hat, largest, high)
				}
				if smallest := values[len(values)-1]; !(smallest >= low*(1-tolerance)-1e-14*values[0]) {
					t.Errorf("%v, T %d, σ̂ %v: the smallest singular value is %g, at least %g is proved", c.activation,
						steps, hat, smallest, low)
				}
			}
		}
	}
}

// rnn is a network of section 6: h(t) = φ(W h(t-1) + M x(t)), h(0) = 0, y = Y h(T), with the bias in M,
// which belongs to an input that is 1.
type rnn struct{ w, m, y *mat.Dense }

// states are h(1) … h(T) of the layer with the network's weights, for the sequences x of T steps.
func (r *rnn) states(n *single[float64], x kernel.Matrix[float64]) []*mat.Dense {
	size, inputs := n.shape.n, n.shape.inputs
	for i := range size {
		copy(n.arena.View("W").Value[i*size:(i+1)*size], r.w.RawRowView(i))
		for j := range inputs {
			n.arena.View("M").Value[j*size+i] = r.m.At(i, j)
		}
		n.arena.View("b").Value[i] = r.m.At(i, inputs)
	}
	n.layer.Load()
	out, _ := n.run(x, false)
	states := make([]*mat.Dense, n.shape.steps)
	for t := range states {
		states[t] = mat.NewDense(n.shape.batch, size, nil)
		for b := range n.shape.batch {
			states[t].SetRow(b, out.Row(t*n.shape.batch+b))
		}
	}
	return states
}

// TestPerturbation is lemma 3 with its equations 24 and 25: how far h(t) and y are from 0, and from those
// of a network whose weights are changed by at most a T-th of their norms. In equation 22 the bound has
// e(…) in the proof, and e to the power of (…) in the statement: the former, smaller one is held.
func TestPerturbation(t *testing.T) {
	closest := 0.0
	for seed, c := range []struct {
		s             shape
		w, m, y, size float64 // norms, and changes as parts of the largest that are allowed
	}{
		{shape{n: 1, inputs: 1, steps: 30, batch: 1, activation: kernel.Linear}, 1, 1, 1, 1},
		{shape{n: 8, inputs: 2, steps: 20, batch: 4, activation: kernel.ReLU}, 1, 2, .5, 1},
		{shape{n: 8, inputs: 2, steps: 20, batch: 4, activation: kernel.Tanh}, 1.2, .3, 3, 1},
		{shape{n: 16, inputs: 3, steps: 40, batch: 4, activation: kernel.LeakyReLU, slope: .2}, .9, 1, 1, .1},
		{shape{n: 5, inputs: 1, steps: 1, batch: 2, activation: kernel.ReLU}, 2, 1, 1, 1},
	} {
		s := c.s
		s.cell, s.fixedStart, s.every = "rnn", true, true
		source := random.New(uint64(seed), 5)
		draw := func(rows, cols int, norm float64) *mat.Dense {
			m := mat.NewDense(rows, cols, nil)
			random.Gaussian(m.RawMatrix().Data, 1, source)
			m.Scale(norm/singularValues(m)[0], m)
			return m
		}
		T := float64(s.steps)
		at := rnn{draw(s.n, s.n, c.w), draw(s.n, s.inputs+1, c.m), draw(3, s.n, c.y)}
		by := rnn{draw(s.n, s.n, c.size*c.w/T), draw(s.n, s.inputs+1, c.size*c.m/T), draw(3, s.n, c.size*c.y/T)}
		if s.n == 1 { // all of one sign
			by.m.Zero()
			for _, m := range []*mat.Dense{at.w, at.m, at.y, by.w, by.y} {
				m.Apply(func(_, _ int, x float64) float64 { return math.Abs(x) }, m)
			}
		}
		var sum rnn
		for i, m := range []**mat.Dense{&sum.w, &sum.m, &sum.y} {
			*m = &mat.Dense{}
			(*m).Add([]*mat.Dense{at.w, at.m, at.y}[i], []*mat.Dense{by.w, by.m, by.y}[i])
		}
		d, n := newData[float64](s, 6), newSingle(t, kernel.Float64(), s, 1)
		largest := 0.0 // B
		for i := range d.x.Rows {
			row := d.x.Row(i)
			if s.n == 1 {
				row[0] = 1
			}
			largest = max(largest, math.Sqrt(1+dot(row, row)))
		}
		before, after := at.states(n, d.x), sum.states(n, d.x)
		norm := func(m mat.Matrix) float64 { return singularValues(m)[0] }
		w, m, y := norm(at.w), norm(at.m), norm(at.y)
		dw, dm, dy := norm(by.w), norm(by.m), norm(by.y)
		check := func(what string, step int, got mat.Vector, bound float64) {
			if closest = max(closest, mat.Norm(got, 2)/bound); !(mat.Norm(got, 2) <= bound*(1+1e-9)) {
				t.Errorf("%v: the norm of %s at step %d is %g, at most %g is proved", s, what, step, mat.Norm(got, 2), bound)
			}
		}
		for b := range s.batch {
			for step := 1; step <= s.steps; step++ {
				t1, power := float64(step), math.Max(math.Pow(w, float64(step-1)), 1)
				h := before[step-1].RowView(b)
				check("h", step, h, largest*m*t1*power) // (24)
				var change mat.VecDense
				change.SubVec(after[step-1].RowView(b), h)
				check("the change of h", step, &change, largest*t1*math.Pow(1+1/T, t1-1)*(dw*m*T+dm)*power) // (25)
			}
			power := math.Max(math.Pow(w, T-1), 1)
			var first, second, change mat.VecDense
			first.MulVec(at.y, before[s.steps-1].RowView(b))
			second.MulVec(sum.y, after[s.steps-1].RowView(b))
			change.SubVec(&second, &first)
			check("the change of y", s.steps, &change, T*largest*power*(y*dw*m*T*math.E+y*dm*math.E+dy*m))
		}
	}
	if closest < .9 {
		t.Errorf("no norm is above %g of its bound: nothing is tested", closest)
	}
}

// newRotated is a cell of SGORNN over rotations with zero start, no bias, and ReLU. With bound 1 - 2α or, in
// theorem 2, β = 1 - α.
func newRotated(t *testing.T, size, inputs, steps int, alpha float64, bound bool) *single[float64] {
	t.Helper()
	set := kernel.Float64()
	n := &single[float64]{shape: shape{n: size, inputs: inputs, steps: steps, batch: 1, every: true}, set: set,
		arena: weight.NewArena[float64]()}
	u, err := weight.NewRotations(set, n.arena, size, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	logit := math.Log(alpha / (1 - alpha))
	n.layer, err = NewScalarGated(set, n.arena, u, ScalarGatedOptions{Activation: kernel.ReLU, Bound: bound,
		Alpha: logit, Beta: -logit, CellOptions: CellOptions{Inputs: inputs, FixedStart: true, Every: true, InputScale: 1}})
	if err != nil {
		t.Fatal(err)
	}
	n.arena.Allocate()
	n.pass = n.layer.NewPass(Limits{Steps: steps, Batch: 1})
	randomise(t, n.layer, n.arena, 2)
	random.Gaussian(n.arena.View("theta").Value, 1, random.New(3, 0))
	clear(n.arena.View("b").Value)
	return n
}

// TestScalarGateBounds is theorem 2 of the SGORNN paper with corollary 1, for β = 1 - α and the smaller
// β of equation 3: no gradient of a 1-Lipschitz loss of one output vᵀh(T), which here is vᵀh(T), is larger
// than C M_φ h (αT)² or C αT √h / R_W; and of its proof ‖h(t)‖ ≤ αt R_W R_x, and ‖∂L/∂h(t)‖ ≤ R_v.
func TestScalarGateBounds(t *testing.T) {
	for _, c := range []struct {
		size, steps int
		alpha       float64
		bound       bool
	}{{8, 1, .3, true}, {8, 50, .3, true}, {16, 200, .01, true}, {16, 200, .01, false}, {8, 200, .5, false}} {
		n := newRotated(t, c.size, 2, c.steps, c.alpha, c.bound)
		h, T := float64(c.size), float64(c.steps)
		d := newData[float64](n.shape, 7)
		rx := 0.0
		for i := range d.x.Rows {
			rx = max(rx, math.Sqrt(dot(d.x.Row(i), d.x.Row(i))))
		}
		for i := range c.steps - 1 { // the loss depends on h(T) alone
			clear(d.weights.Row(i))
		}
		last := d.weights.Row(c.steps - 1)
		n.gradients(d)
		values := n.arena.View("M").Value
		rw, rv := math.Sqrt(dot(values, values)), math.Sqrt(dot(last, last))
		for step := 1; step <= c.steps; step++ {
			row := n.outputs.Row(step - 1)
			if got, most := math.Sqrt(dot(row, row)), c.alpha*float64(step)*rw*rx; !(got <= most*(1+1e-12)) {
				t.Errorf("%+v: ‖h(%d)‖ is %g, at most %g is proved", c, step, got, most)
			}
		}
		for name, most := range map[string]float64{
			"theta": rx * rw * rv * float64(weight.RotationSteps(c.size)) * math.Sqrt(h) * h * c.alpha * T * c.alpha * T,
			"M":     rx * rv * c.alpha * T * math.Sqrt(h),
		} {
			largest := 0.0
			for _, x := range n.arena.View(name).Gradient {
				largest = max(largest, math.Abs(x))
			}
			if !(largest > 0 || name == "theta" && c.steps == 1) || !(largest <= most) {
				t.Errorf("%+v: the largest gradient of %s is %g, at most %g is proved", c, name, largest, most)
			}
		}
		if !(n.norm <= rv*(1+1e-12)) {
			t.Errorf("%+v: ‖∂L/∂h(0)‖ is %g, at most R_v = %g is proved", c, n.norm, rv)
		}
	}
}

// TestWatch holds the gradients of all states to those of the state before shorter sequences, which
// hand the gradient on, with outputs at the end and at every step; and watching changes no bit.
func TestWatch(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		for _, every := range []bool{false, true} {
			s := s
			s.every = every
			d := newData[float64](s, 2)
			n := newSingle(t, kernel.Float64(), s, 1)
			n.gradients(d)
			want := snapshot(n)
			squares := make([]float64, s.steps)
			n.pass.(Watcher).Watch(squares)
			n.gradients(d)
			for name, gradient := range snapshot(n) {
				if !slices.Equal(gradient, want[name]) {
					t.Errorf("every %v: watching changes the gradient of %s", every, name)
				}
			}
			n.pass.(Watcher).Watch(nil)

			// From the end on: ∂L/∂h(t) is the start's gradient of the steps from t on.
			for from := range s.steps {
				n.layer.Load()
				_, state := n.pass.Forward(Input[float64]{Steps: max(from, 1), Batch: s.batch,
					X: d.x.Slice(0, max(from, 1)*s.batch)}, nil, true)
				state = copied(state)
				if from == 0 {
					state = nil
				}
				weights := d.weights
				if every {
					weights = weights.Slice(from*s.batch, s.steps*s.batch)
				}
				n.pass.Forward(Input[float64]{Steps: s.steps - from, Batch: s.batch,
					X: d.x.Slice(from*s.batch, s.steps*s.batch)}, state, true)
				g := n.pass.Backward(weights, nil, kernel.Matrix[float64]{})[0]
				if every && from > 0 { // what is before the steps has an output, too
					for i := range s.batch {
						for j, x := range d.weights.Row((from-1)*s.batch + i) {
							g.Row(i)[j] += x
						}
					}
				}
				sum := 0.0
				for i := range s.batch {
					sum += dot(g.Row(i), g.Row(i))
				}
				if !near([]float64{math.Sqrt(sum)}, []float64{math.Sqrt(squares[from])}) {
					t.Errorf("every %v: ‖∂L/∂h(%d)‖ is %g, want %g", every, from, math.Sqrt(squares[from]), math.Sqrt(sum))
				}
			}
		}
	})
}

// TestAssumption1 is assumption 1(b) of Zhang, Lei, Dhillon (2018), |φ(x)| ≤ |x| and |φ(x) - φ(y)| ≤ |x - y|, of which
// theorem 5 makes use: it holds for each activation that there is. The paper says it of the sigmoid as well, which has
// the second, but not the first: φ(0) = ½.
func TestAssumption1(t *testing.T) {
	set := kernel.Float64()
	x := kernel.NewMatrix[float64](1, 401)
	for i := range x.Data {
		x.Data[i] = float64(i-200) / 20
	}
	check := func(name string, of kernel.Matrix[float64], bounded bool) {
		first, second := true, true
		for i, y := range of.Data {
			first = first && math.Abs(y) <= math.Abs(x.Data[i])+1e-15
			if i > 0 {
				second = second && math.Abs(y-of.Data[i-1]) <= x.Data[i]-x.Data[i-1]+1e-15
			}
		}
		if first != bounded || !second {
			t.Errorf("%s: |φ(x)| ≤ |x|: %v, want %v; |φ(x) - φ(y)| ≤ |x - y|: %v", name, first, bounded, second)
		}
	}
	for activation := kernel.Linear; activation <= kernel.Tanh; activation++ {
		of := kernel.NewMatrix[float64](1, x.Cols)
		set.MultiplyActivate(of, kernel.Sum[float64]{H: x}, activation, .2)
		check(activation.String(), of, true)
	}
	of := kernel.NewMatrix[float64](1, x.Cols)
	set.Sigmoid(of.Data, x.Data)
	check("sigmoid", of, false)
}
