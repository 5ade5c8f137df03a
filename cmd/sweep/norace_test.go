//go:build !race

package main

// shortEpochs is how long a trial of the short sweep trains.
const shortEpochs = "400"
