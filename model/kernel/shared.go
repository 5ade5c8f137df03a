package kernel

// A Runner calls do for the parts from 0 to parts-1, some of them at the same time, and returns when
// all are done.
type Runner func(parts int, do func(part int))

// Shared returns a set that computes the same bits, the columns of large products in parts that run
// calls on so many threads. It is for steps of few rows through large weights, where there are no
// rows to share, and for one goroutine at a time. The plain loops are not shared.
func (s *Set[F]) Shared(threads int, run Runner) *Set[F] {
	shared := *s
	shared.backend = s.backend.shared(threads, run)
	return &shared
}

func (p plain[F]) shared(int, Runner) backend[F] { return p }
