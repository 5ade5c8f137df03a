package kernel

import "unsafe"

// hugeBytes is the size from which on memory is requested in huge pages: in small ones, what
// is read once a minibatch misses the processor's table of pages at each, which costs a
// virtual machine most. What is smaller lies beside it as a rule.
const hugeBytes = 64 << 10

// Make returns n zeros, in huge pages if they are many and the system has such.
func Make[F Float](n int) []F {
	x := make([]F, n)
	if bytes(x) >= hugeBytes {
		adviseHuge(x)
	}
	return x
}

// Scratch is memory that a function of a [Set] uses while it runs and leaves for the
// next. The zero value is ready; several goroutines need one each.
type Scratch[F Float] struct{ data []F }

// room is space for n elements of any value.
func (s *Scratch[F]) room(n int) []F {
	if len(s.data) < n {
		s.data = make([]F, n)
	}
	return s.data[:n]
}

func bytes[F Float](x []F) int { return len(x) * int(unsafe.Sizeof(F(0))) }

// ScratchSize is the number of elements that [Set.TransposedAdd] takes of a [Scratch] for
// so many rows of C and of A.
func ScratchSize(rows, steps int) int {
	return min(min(rows, scratchBlock)*min(steps, rowBlock), scratchBlock*rowBlock)
}

// scratchBlock is how many rows of C are worked on together: full tiles at all levels, and a
// part of A for the second-level cache.
const scratchBlock = 96 << 10 / rowBlock / 12 * 12
