package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// adviseHuge requests huge pages for x and what lies beside it in the heap, also where
// small ones are in use already, as in memory that the garbage collector gives out again. A
// system without them keeps to small ones.
func adviseHuge[F Float](x []F) {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(x)))
	end := (start + uintptr(bytes(x)) + hugePage - 1) &^ (hugePage - 1)
	start &^= hugePage - 1
	for _, advice := range []uintptr{unix.MADV_HUGEPAGE, unix.MADV_COLLAPSE} {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, end-start, advice)
	}
}
