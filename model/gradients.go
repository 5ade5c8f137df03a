package model

import (
	"fmt"

	"sweep/model/network"
)

// gradients are the time steps of which a trial records ‖∂L/∂h(t)‖; none unless it is asked for.
type gradients struct {
	times []int
	norms []float64 // of every time step, in the last minibatch
}

// watchGradients watches so many time steps of a recurrent network, evenly spread from the first to the
// last.
func watchGradients(net *network.Network[float32], count, steps int) (g gradients) {
	if count == 0 || !net.Recurs() {
		return g
	}
	net.Watch()
	g.norms = make([]float64, steps)
	count = min(count, steps)
	for i := range count {
		g.times = append(g.times, i*(steps-1)/max(count-1, 1))
	}
	return g
}

// add adds a minibatch's norms to the sums of the epoch.
func (g *gradients) add(net *network.Network[float32], sum *epochSum) {
	if g.times == nil {
		return
	}
	if sum.Gradients == nil {
		sum.Gradients = make([]float64, len(g.times))
	}
	net.Gradients(g.norms)
	for i, t := range g.times {
		sum.Gradients[i] += g.norms[t]
	}
}

// record adds the means over the epoch to the curves.
func (g *gradients) record(c *curves, epoch int, sum *epochSum) {
	for i, t := range g.times {
		c.add(fmt.Sprintf("gradient_norm_%d", t), epoch, sum.Gradients[i]/float64(sum.Steps))
	}
}
