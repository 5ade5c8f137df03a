//go:build race

package main

// shortEpochs is fewer under the race detector, which slows training down more than
// what goes on around it.
const shortEpochs = "60"
