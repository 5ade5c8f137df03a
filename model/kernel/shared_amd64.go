package kernel

const (
	// sharedWork is how many multiplications a product has that is worth sharing: some 25 µs of one
	// core, where waking another takes a few.
	sharedWork = 1 << 20
	// threadParts is how many parts there are for each thread, so that one which comes late takes fewer.
	threadParts = 4
)

// sharing has the present product of an assembly that shares its products. It is kept, and do made
// once, so that a product allocates nothing.
type sharing struct {
	of      *assembly
	run     Runner
	threads int
	do      func(part int)

	product       productArguments
	rows, cols    int
	parts, panels int
}

func (k *assembly) shared(threads int, run Runner) backend[float32] {
	shared := *k
	s := &sharing{of: k, run: run, threads: threads}
	s.do = s.multiplyPart
	shared.sharing = s
	return &shared
}

// multiply calls the product that begins at p for so many rows and columns, whole panels in each part.
func (s *sharing) multiply(p *productArguments, rows, cols int) {
	s.product, s.rows, s.cols = *p, rows, cols
	s.panels = (cols + 2*s.of.lanes - 1) / (2 * s.of.lanes)
	s.parts = min(s.threads*threadParts, s.panels)
	s.run(s.parts, s.do)
}

func (s *sharing) multiplyPart(part int) {
	width := 2 * s.of.lanes
	from := part * s.panels / s.parts * width
	to := min((part+1)*s.panels/s.parts*width, s.cols)
	p := s.product
	p.c, p.out, p.source = plus(p.c, float*from), plus(p.out, float*from), plus(p.source, float*from)
	p.b, p.m = plus(p.b, float*from*p.k), plus(p.m, float*from*(p.inputs+1))
	p.scale = plus(p.scale, float*from)
	s.of.panels(&p, s.rows, to-from, nil, nil)
}
