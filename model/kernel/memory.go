package kernel

import "unsafe"

// hugeBytes is the size from which on memory is asked for in huge pages: a history
// that is gone through once a minibatch would miss the processor's table of pages
// at every small one.
const hugeBytes = 4 << 20

// Make returns n zeros, in huge pages if they are many and the system has such.
func Make[F Float](n int) []F {
	x := make([]F, n)
	if bytes(x) >= hugeBytes {
		adviseHuge(x)
	}
	return x
}

func bytes[F Float](x []F) int { return len(x) * int(unsafe.Sizeof(F(0))) }
