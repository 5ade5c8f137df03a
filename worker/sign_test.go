package worker

import (
	"errors"
	"syscall"
	"testing"
)

func TestSigns(t *testing.T) {
	lack := errors.New("lack")
	w := &Worker{machine: func() error { return lack }}
	for text, want := range map[string]bool{
		"exit status 1: head: error writing: No space left on device": true,
		"OSError: [Errno 28] No space left on device":                 true,
		"OSError: [Errno 12] Cannot allocate memory":                  true,
		"terminate called after throwing 'std::bad_alloc'":            true,
		"numpy.core._exceptions._ArrayMemoryError: Unable":            true,
		"torch.cuda.OutOfMemoryError: CUDA out of memory":             false,
		"ValueError: lr must be positive":                             false,
		"":                                                            false,
	} {
		if got := w.machineFailed("", text) != nil; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestMemoryLeft(t *testing.T) {
	for text, want := range map[string]bool{
		"MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:  8000000 kB\n": false,
		"MemTotal:       16000000 kB\nMemAvailable:  100000 kB\n":                 true,
		"MemTotal:\n": false,
		"":            false,
	} {
		if got := errors.Is(memoryLeft(text), syscall.ENOMEM); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
