package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge requests huge pages where x has not been touched yet. A system without them
// keeps to small ones.
func adviseHuge[F Float](x []F) {
	const page = 2 << 20
	start := unsafe.Pointer(unsafe.SliceData(x))
	skip := int(-uintptr(start) & (page - 1))
	length := (bytes(x) - skip) &^ (page - 1)
	if length > 0 {
		_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(start, skip)), length), unix.MADV_HUGEPAGE)
	}
}
