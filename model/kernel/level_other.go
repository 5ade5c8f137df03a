//go:build !amd64

package kernel

func detect() Level { return Plain }

// simd is never called: no level above plain is detected.
func simd(Level) *Set[float32] { return nil }
