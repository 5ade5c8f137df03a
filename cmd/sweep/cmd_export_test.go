package main

import "testing"

// A number that the trainer does not report is empty, not 0.
func TestKnownNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "", 7: "7", 0.5: "0.5", 12345678: "12345678"} {
		if got := known(v); got != want {
			t.Errorf("known(%v) = %q, want %q", v, got, want)
		}
	}
}
