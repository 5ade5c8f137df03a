// Command example is the trainer "quadratic", which minimizes a quadratic form by gradient
// descent. It shows how a trainer is written. Its parameters can make it fail in every way that
// a worker must survive.
package main

import "sweep/worker/trainer"

func main() {
	trainer.Serve(quadratic{})
}
