// Command example is the trainer "quadratic": it minimises a quadratic form by
// gradient descent. It shows what a trainer is, and can be told to fail in every
// way that a worker must survive.
package main

import "sweep/worker/trainer"

func main() {
	trainer.Serve(quadratic{})
}
