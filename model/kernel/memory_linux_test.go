package kernel

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memory that the garbage collector gives out again is in huge pages too.
func TestMakeInUsedMemory(t *testing.T) {
	const size = 32 << 20
	memory, err := unix.Mmap(-1, 0, 2*hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE)
	start := -uintptr(unsafe.Pointer(&memory[0])) & (hugePage - 1)
	if err := unix.Madvise(memory[start:start+hugePage], unix.MADV_COLLAPSE); err != nil {
		t.Skipf("LEFT OUT: this system makes no huge pages of small ones: %v", err)
	}

	used := make([]byte, size)
	for i := range used {
		used[i] = 1
	}
	runtime.KeepAlive(used)
	runtime.GC()
	x := Make[float32](size / 4)
	for i := range x { // also where it is memory that nobody has used
		x[i] = 1
	}
	if huge := hugeMemory(t, uintptr(unsafe.Pointer(&x[0])), size); huge == 0 {
		t.Error("nothing is in huge pages")
	}
	runtime.KeepAlive(x)
}

// hugeMemory is how much is in huge pages of the mappings that have these addresses.
func hugeMemory(t *testing.T, start, length uintptr) (huge uintptr) {
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	inside := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var from, to, amount uintptr
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &from, &to); n == 2 {
			inside = from < start+length && to > start
			continue
		}
		if text, ok := strings.CutPrefix(lines.Text(), "AnonHugePages:"); ok && inside {
			if _, err := fmt.Sscan(text, &amount); err != nil {
				t.Fatal(err)
			}
			huge += amount << 10
		}
	}
	return huge
}
