package layer

import (
	"context"
	"fmt"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// Embedding turns tokens into rows: the row of a token is its row of E. That is the
// product of E with the one-hot rows of the tokens, which are never made: forward
// gathers rows, back adds to them.
type Embedding[F kernel.Float] struct {
	free
	set       *kernel.Set[F]
	e         *weight.View[F] // [tokens × width]
	deviation float64
	passes    []*embeddingPass[F]
}

// NewEmbedding declares "E", [tokens × width], which starts from N(0, deviation²).
func NewEmbedding[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], tokens, width int,
	deviation float64) (*Embedding[F], error) {
	if tokens < 1 || width < 1 {
		return nil, fmt.Errorf("layer: embedding of %d tokens in %d numbers: want at least 1 of each", tokens, width)
	}
	return &Embedding[F]{set: set, e: arena.Declare("E", tokens, width), deviation: deviation}, nil
}

// Outputs returns the width of a row, for every step.
func (e *Embedding[F]) Outputs() (width int, every bool) { return e.e.Cols, true }

// Init draws E.
func (e *Embedding[F]) Init(ctx context.Context, source *random.Source) error {
	return weight.SetGaussian(ctx, e.e.Value, e.deviation, source)
}

// Join adds the gradients of the rows that the passes but the first have met.
func (e *Embedding[F]) Join(used int) {
	for _, p := range e.passes[1:used] {
		gradient, fork := e.e.GradientMatrix(), p.e.GradientMatrix()
		for _, token := range p.met {
			row := fork.Row(token)
			e.set.Axpy(gradient.Row(token), 1, row)
			clear(row) // those of the next minibatch, and of the same token once more
		}
	}
}

// Cost counts the rows.
func (e *Embedding[F]) Cost(limits Limits) Cost {
	values := rowsOf(limits) * int64(e.e.Cols)
	return Cost{Values: values, Pass: values, Fork: int64(e.e.Rows) * int64(e.e.Cols)}
}

// embeddingPass is a [Pass] of an [Embedding].
type embeddingPass[F kernel.Float] struct {
	*Embedding[F]
	e       *weight.View[F] // with the pass's gradient
	met     []int           // the tokens of the last Backward, as they come
	tokens  []int           // of the last Forward with keep
	outputs kernel.Matrix[F]
}

// NewPass returns a pass for parts of minibatches.
func (e *Embedding[F]) NewPass(limits Limits) Pass[F] {
	p := &embeddingPass[F]{Embedding: e, e: e.e, outputs: kernel.NewMatrix[F](limits.Steps*limits.Batch, e.e.Cols)}
	if len(e.passes) > 0 {
		p.e = e.e.Fork()
	}
	e.passes = append(e.passes, p)
	return p
}

// Forward gathers the rows of the input's tokens.
func (p *embeddingPass[F]) Forward(in Input[F], _ State[F], keep bool) (out kernel.Matrix[F], to State[F]) {
	if n := len(in.Tokens); n != in.Steps*in.Batch || n > p.outputs.Rows {
		panic(fmt.Sprintf("layer: %d tokens for %d steps of %d sequences in a pass made for %d", n, in.Steps, in.Batch,
			p.outputs.Rows))
	}
	rows := p.e.Matrix()
	out = p.outputs.Slice(0, len(in.Tokens))
	for i, token := range in.Tokens {
		copy(out.Row(i), rows.Row(token))
	}
	if keep {
		p.tokens = in.Tokens
	}
	return out, nil
}

// Backward adds to the gradients of the rows. Tokens have none.
func (p *embeddingPass[F]) Backward(dout kernel.Matrix[F], _ State[F], _ kernel.Matrix[F]) (dfrom State[F]) {
	if len(p.tokens) == 0 || dout.Rows != len(p.tokens) {
		panic(fmt.Sprintf("layer: gradient of %d rows for %d tokens", dout.Rows, len(p.tokens)))
	}
	gradient := p.e.GradientMatrix()
	for i, token := range p.tokens {
		p.set.Axpy(gradient.Row(token), 1, dout.Row(i))
	}
	p.met = p.tokens
	return nil
}
