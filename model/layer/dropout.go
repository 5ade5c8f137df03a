package layer

import (
	"context"
	"fmt"

	"sweep/model/kernel"
	"sweep/model/random"
)

// Dropout sets a random part of its inputs to 0 in training and scales what stays,
// so that the mean is the same; where nothing is retained for Backward it does nothing.
// What is dropped is a function of seed, layer, training step, sequence, time step
// and unit: it is the same however a minibatch is cut, and after a resumption.
type Dropout[F kernel.Float] struct {
	free
	width       int
	probability float64
	mask        random.Mask
}

// NewDropout returns a layer that drops each of width inputs with the given
// probability in [0, 1). number tells it from the network's other layers of its kind.
func NewDropout[F kernel.Float](width int, probability float64, seed uint64, number int) (*Dropout[F], error) {
	if !(probability >= 0 && probability < 1) {
		return nil, fmt.Errorf("layer: dropout %v: want a number from 0 up to, not including, 1", probability)
	}
	return &Dropout[F]{width: width, probability: probability, mask: random.NewMask(seed, number, probability)}, nil
}

// Outputs returns the width of the input, for every step.
func (d *Dropout[F]) Outputs() (width int, every bool) { return d.width, true }

// Init does nothing: there are no parameters.
func (d *Dropout[F]) Init(context.Context, *random.Source) error { return nil }

// Cost counts the mask and the outputs.
func (d *Dropout[F]) Cost(limits Limits) Cost {
	return Cost{Values: 2 * rowsOf(limits) * int64(d.width),
		Pass: 2 * int64(kernel.PaddedSize(limits.Steps*limits.Batch, d.width))}
}

// dropoutPass is a [Pass] of [Dropout].
type dropoutPass[F kernel.Float] struct {
	*Dropout[F]
	outputs kernel.Matrix[F]
	mask    kernel.Matrix[F] // of each output: 0 or 1/(1-probability)
	still   bool             // the last Forward dropped nothing
}

// NewPass returns a pass for parts of minibatches.
func (d *Dropout[F]) NewPass(limits Limits) Pass[F] {
	rows := limits.Steps * limits.Batch
	return &dropoutPass[F]{Dropout: d, outputs: kernel.NewPadded[F](rows, d.width),
		mask: kernel.NewPadded[F](rows, d.width)}
}

// Forward drops where keep says that this is training, unless the input says that it is not.
func (p *dropoutPass[F]) Forward(in Input[F], _ State[F], keep bool) (out kernel.Matrix[F], to State[F]) {
	if p.still = in.Still; p.still || !keep {
		return in.X, nil
	}
	place, retained := in.Place, F(1/(1-p.probability))
	if place.Batch == 0 {
		place.Batch = in.Batch
	}
	out = p.outputs.Slice(0, in.X.Rows)
	for t := range in.Steps {
		for b := range in.Batch {
			i := t*in.Batch + b
			mask, dst := p.mask.Row(i), out.Row(i)
			random.Row(p.Dropout.mask, mask, retained, place.Step, t*place.Batch+place.First+b)
			for j, x := range in.X.Row(i) {
				dst[j] = x * mask[j]
			}
		}
	}
	return out, nil
}

// Backward hands on the gradients of what stayed.
func (p *dropoutPass[F]) Backward(dout kernel.Matrix[F], _ State[F], dx kernel.Matrix[F]) (dfrom State[F]) {
	if dx.Data == nil {
		return nil
	}
	if p.still {
		dx.Fill(dout)
		return nil
	}
	for i := range dout.Rows {
		mask, dst := p.mask.Row(i), dx.Row(i)
		for j, d := range dout.Row(i) {
			dst[j] = d * mask[j]
		}
	}
	return nil
}
