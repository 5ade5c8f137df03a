package device

import "os"

// growing are variables by which frameworks leave memory of a GPU that they share to others, unless the user has set
// one: JAX takes three quarters of a card at its start, TensorFlow all of it.
func growing() (variables []string) {
	unset := func(names ...string) bool {
		for _, name := range names {
			if _, set := os.LookupEnv(name); set {
				return false
			}
		}
		return true
	}
	if unset("XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION") {
		variables = append(variables, "XLA_PYTHON_CLIENT_PREALLOCATE=false")
	}
	if unset("TF_FORCE_GPU_ALLOW_GROWTH") {
		variables = append(variables, "TF_FORCE_GPU_ALLOW_GROWTH=true")
	}
	return variables
}
