package main

// elementwise generates the loops over vectors of numbers.
func (m *machine) elementwise() {
	m.unary("leaky", ", slope float32", "dst[i] = src[i] > 0 ? src[i] : slope·src[i]", func() func(group) group {
		slope := m.spread("slope")
		return func(xs group) group {
			ys := make(group, len(xs))
			for i, x := range xs {
				ys[i] = m.positive(x, x, slope)
			}
			return ys
		}
	})
	m.unary("exp", "", "dst[i] = exp(src[i])", func() func(group) group { return m.exp })
	m.unary("sigmoid", "", "dst[i] = 1/(1+exp(−src[i]))", func() func(group) group { return m.sigmoid })
	m.unary("tanh", "", "dst[i] = tanh(src[i])", func() func(group) group { return m.tanh })
	m.derivatives()
	m.combinations()
	m.optimisers()
}

// unary generates dst[i] = f(src[i]) for i < n. begin is called before the loop.
func (m *machine) unary(name, parameters, doc string, begin func() func(group) group) {
	m.begin(name, "func(dst, src *float32, n int"+parameters+")", doc)
	dst, src, n := m.param("dst"), m.param("src"), m.param("n")
	f := begin()
	m.eachGroup(n, 2, func(s []span) { stores(s, dst, f(loads(s, src))) })
	m.end()
}

func (m *machine) derivatives() {
	m.begin("leakyDerivative", "func(dst, grad, out *float32, n int, slope float32)", "dst[i] = out[i] > 0 ? grad[i] "+
		": slope·grad[i]")
	dst, grad, out, n := m.param("dst"), m.param("grad"), m.param("out"), m.param("n")
	slope := m.spread("slope")
	m.eachVector(n, func(s span) { s.store(dst, m.positive(s.load(grad), s.load(out), slope)) })
	m.end()

	m.begin("tanhDerivative", "func(dst, grad, out *float32, n int)", "dst[i] = grad[i]·(1 − out[i]²)")
	dst, grad, out, n = m.param("dst"), m.param("grad"), m.param("out"), m.param("n")
	m.eachVector(n, func(s span) { s.store(dst, m.mul(s.load(grad), m.oneMinusSquare(s.load(out)))) })
	m.end()
}

func (m *machine) combinations() {
	m.begin("axpy", "func(y, x *float32, n int, a float32)", "y[i] += a·x[i]")
	y, x, n := m.param("y"), m.param("x"), m.param("n")
	a := m.spread("a")
	m.eachVector(n, func(s span) {
		sum := s.load(y)
		m.addProduct(sum, a, s.load(x))
		s.store(y, sum)
	})
	m.end()

	m.begin("scale", "func(x *float32, n int, a float32)", "x[i] = a·x[i]")
	x, n = m.param("x"), m.param("n")
	a = m.spread("a")
	m.eachVector(n, func(s span) { s.store(x, m.mul(a, s.load(x))) })
	m.end()

	m.begin("rotate", "func(x, y *float32, n int, cos, sin float32)", "x[i], y[i] = cos·x[i] − sin·y[i], sin·x[i] + "+
		"cos·y[i]")
	x, y, n = m.param("x"), m.param("y"), m.param("n")
	cos, sin := m.spread("cos"), m.spread("sin")
	m.eachVector(n, func(s span) {
		first, second := s.load(x), s.load(y)
		rotated := m.mul(cos, first)
		m.subProduct(rotated, sin, second)
		s.store(x, rotated)
		second = m.mul(cos, second)
		m.addProduct(second, sin, first)
		s.store(y, second)
	})
	m.end()
}

func (m *machine) optimisers() {
	m.begin("adam", "func(param, grad, m, v *float32, n int, rate, beta1, rest1, beta2, rest2, correction, epsilon "+
		"float32)",
		"one update of Adam; rest1 and rest2 are 1 − beta1 and 1 − beta2:",
		"",
		"\tm = beta1·m + rest1·g; v = beta2·v + rest2·g²; param −= rate·m/(correction·√v + epsilon)")
	param, grad, first, second, n := m.param("param"), m.param("grad"), m.param("m"), m.param("v"), m.param("n")
	rate, beta1, rest1, beta2, rest2 := m.spread("rate"), m.spread("beta1"), m.spread("rest1"), m.spread("beta2"),
		m.spread("rest2")
	correction, epsilon := m.spread("correction"), m.spread("epsilon")
	m.eachVector(n, func(s span) {
		s.prefetch(param, grad, first, second)
		g := s.load(grad)
		first1 := m.mul(beta1, s.load(first))
		m.addProduct(first1, rest1, g)
		s.store(first, first1)
		second1 := m.mul(beta2, s.load(second))
		m.addProduct(second1, m.mul(rest2, g), g)
		s.store(second, second1)
		root := m.vector()
		m.VSQRTPS(second1, root)
		m.VFMADD213PS(epsilon, correction, root)
		s.store(param, m.sub(s.load(param), m.div(m.mul(rate, first1), root)))
	})
	m.end()

	m.begin("rmsprop", "func(param, grad, v *float32, n int, rate, rho, rest, epsilon float32)",
		"one update of RMSprop; rest is 1 − rho:",
		"",
		"\tv = rho·v + rest·g²; param −= rate·g/(√v + epsilon)")
	param, grad, second, n = m.param("param"), m.param("grad"), m.param("v"), m.param("n")
	rate, rho, rest, epsilon := m.spread("rate"), m.spread("rho"), m.spread("rest"), m.spread("epsilon")
	m.eachVector(n, func(s span) {
		g := s.load(grad)
		v := m.mul(rho, s.load(second))
		m.addProduct(v, m.mul(rest, g), g)
		s.store(second, v)
		root := m.vector()
		m.VSQRTPS(v, root)
		s.store(param, m.sub(s.load(param), m.div(m.mul(rate, g), m.add(root, epsilon))))
	})
	m.end()

	m.begin("momentum", "func(param, grad, velocity *float32, n int, rate, momentum float32)",
		"one update by the heavy ball:",
		"",
		"\tvelocity = momentum·velocity + g; param −= rate·velocity")
	param, grad, velocity, n := m.param("param"), m.param("grad"), m.param("velocity"), m.param("n")
	rate, momentum := m.spread("rate"), m.spread("momentum")
	m.eachVector(n, func(s span) {
		v := s.load(grad)
		m.addProduct(v, momentum, s.load(velocity))
		s.store(velocity, v)
		p := s.load(param)
		m.subProduct(p, rate, v)
		s.store(param, p)
	})
	m.end()
}
