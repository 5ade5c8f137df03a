package model

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"sweep/model/analysis"
	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/network"
	"sweep/model/task"
	"sweep/model/weight"
	"sweep/sweep"
)

// ErrNoBound is what [Trainer.Theory] returns of networks that no bound of the papers is about.
var ErrNoBound = errors.New("no bound of the papers is about this network")

// Theory is what the papers' bounds say of a trained network, and what there is to compare them with. One of
// Recurrent, Gated and FeedForward is set.
type Theory struct {
	Recurrent   *analysis.Recurrent
	Gated       *analysis.Gated
	FeedForward *analysis.FeedForward
	Radius      float64 // r if the singular values of W are kept within 1 ± r, else NaN
	MaxLoss     float64 // of Gated, the largest loss that its states allow
	Start       float64 // ‖h(0)‖, which the bounds have at 0
	Jacobian    float64 // ‖∂h(T)/∂h(0)‖ along the first row of the first minibatch, NaN of FeedForward

	// Of the rows that the weights were trained on, and of the test rows: the output of the row's
	// class less the largest other one, where one output z stands for the outputs 0 and z, and the
	// mean loss.
	Train, Test         []float64
	TrainLoss, TestLoss float64

	// Of Gated, the largest entries of ∂L/∂Θ, 0 unless U is made of rotations, and of ∂L/∂W, b included, over the
	// minibatches of training.
	ThetaGradient, InputGradient float64
}

// Theory measures the network of a [WeightsArtifact] on its data. It is [ErrNoBound] unless the task is a
// classification of sequences with the loss cross_entropy or sigmoid, and the network one of
//
//	h(t) = φ(W h(t-1) + M x(t) + b)                      of one layer (Recurrent)
//	h(t) = α φ(U h(t-1) + W x(t) + b) + β h(t-1)         of one layer, and one output or two classes (Gated)
//	h ← φ(W h + b)                                       with a homogeneous φ (FeedForward)
//
// Biases are part of the matrices: x has a further coordinate of 1, and h one of φ(1).
func (t *Trainer) Theory(ctx context.Context, artifact []byte, dataDir string) (*Theory, error) {
	net, work, s, err := t.load(artifact, dataDir, 0)
	if err != nil {
		return nil, err
	}
	defer net.Close()
	shape := work.Shape()
	if !shape.Classes || shape.Every || shape.Loss != "cross_entropy" && shape.Loss != "sigmoid" {
		return nil, fmt.Errorf("%w: its task has no class for a whole sequence, or its loss is %s", ErrNoBound,
			shape.Loss)
	}
	theory := &Theory{Radius: math.NaN(), Jacobian: math.NaN()}
	largest, err := theory.measure(ctx, net, work, s)
	if err != nil {
		return nil, err
	}
	reader := theoryReader{net: net, s: s, shape: shape, input: math.Sqrt(largest + 1)}
	return theory, reader.read(theory)
}

// measure evaluates the rows of both parts and returns the largest ‖x(t)‖².
func (y *Theory) measure(ctx context.Context, net *network.Network[float32], work task.Task,
	s *settings) (largest float64, err error) {
	batch := task.NewBatch[float32](work.Shape(), s.room(work), net.Rows())
	// rows evaluates those of a part once; the stream of training never ends.
	rows := func(part task.Part, size int, margins *[]float64, sum *float64) error {
		stream, err := work.Open(part, size)
		for all := len(*margins) + work.Count(part); err == nil && len(*margins) < all && stream.Next(batch); {
			if err = ctx.Err(); err != nil {
				break
			}
			if part == task.Train {
				y.differentiate(net, batch, len(*margins) == 0)
			}
			for row := range batch.X.Rows {
				largest = max(largest, net.SumSquares(batch.X.Row(row)))
			}
			net.Classify(batch, func(outputs kernel.Matrix[float32], classes []int) {
				for row, class := range classes {
					*margins = append(*margins, marginOf(outputs.Row(row), class))
				}
			})
			score := net.Evaluate(batch)
			*sum += score.Loss
		}
		return err
	}
	if err := rows(task.Train, s.batch, &y.Train, &y.TrainLoss); err != nil {
		return 0, err
	}
	if work.Schedule().Refit > 0 {
		if err := rows(task.Validation, evaluationBatch, &y.Train, &y.TrainLoss); err != nil {
			return 0, err
		}
	}
	err = rows(task.Test, evaluationBatch, &y.Test, &y.TestLoss)
	y.TrainLoss, y.TestLoss = y.TrainLoss/float64(len(y.Train)), y.TestLoss/float64(len(y.Test))
	return largest, err
}

// differentiate measures the gradients of a minibatch of training, and of the first one the Jacobian.
func (y *Theory) differentiate(net *network.Network[float32], batch *task.Batch[float32], first bool) {
	if first && net.Recurs() {
		y.Jacobian = norms(dense(net.Jacobian(batch))).Spectral
	}
	if _, _, gated := net.Gates(); !gated {
		return
	}
	net.Differentiate(batch, 0)
	net.Changed() // a pass back may use the weights up
	for _, v := range net.Arena.Views() {
		largest := &y.InputGradient
		switch v.Name {
		case "theta":
			largest = &y.ThetaGradient
		case "M", "b":
		default:
			continue
		}
		for _, g := range v.Gradient {
			*largest = max(*largest, math.Abs(float64(g)))
		}
	}
}

// marginOf is the output of a class less the largest other one.
func marginOf(outputs []float32, class int) float64 {
	if len(outputs) == 1 {
		return float64(outputs[0]) * float64(2*class-1)
	}
	other := math.Inf(-1)
	for i, x := range outputs {
		if i != class {
			other = max(other, float64(x))
		}
	}
	return float64(outputs[class]) - other
}

// theoryReader reads the matrices of a network.
type theoryReader struct {
	net   *network.Network[float32]
	s     *settings
	shape task.Shape
	input float64 // the largest ‖(x, 1)‖
}

func (r *theoryReader) read(y *Theory) error {
	recurrent := 0
	var gated *layer.ScalarGated[float32]
	for _, l := range r.net.Stack.Layers() {
		switch l := l.(type) {
		case *layer.Elman[float32]:
			recurrent++
		case *layer.ScalarGated[float32]:
			gated = l
			recurrent++
		case *layer.Affine[float32], *layer.Dropout[float32]:
		default:
			return fmt.Errorf("%w: it has a %T", ErrNoBound, l)
		}
	}
	if start := r.net.Arena.View("h0"); start != nil {
		y.Start = norms(r.matrix("h0")).Frobenius
	}
	switch {
	case recurrent > 1:
		return fmt.Errorf("%w: it has several recurrent layers", ErrNoBound)
	case gated != nil:
		return r.gated(y, gated)
	case recurrent == 1:
		return r.recurrent(y)
	}
	return r.feedForward(y)
}

// matrix is a tensor.
func (r *theoryReader) matrix(name string) *mat.Dense {
	v := r.net.Arena.View(name)
	m := mat.NewDense(v.Rows, v.Cols, nil)
	for i, x := range v.Value {
		m.RawMatrix().Data[i] = float64(x)
	}
	return m
}

// norms decomposes a matrix.
func norms(m mat.Matrix) analysis.Norms {
	var svd mat.SVD
	if sum := mat.Norm(m, 2); math.IsNaN(sum) || math.IsInf(sum, 0) || !svd.Factorize(m, mat.SVDNone) {
		return analysis.Norms{Spectral: math.NaN(), Frobenius: math.NaN()}
	}
	return analysis.Norms{Spectral: svd.Values(nil)[0], Frobenius: mat.Norm(m, 2)}
}

// formed is a matrix of the system.
func formed(w weight.Matrix[float32]) *mat.Dense {
	rows, cols := w.Shape()
	single := kernel.NewMatrix[float32](rows, cols)
	w.Value(single)
	return dense(single)
}

// dense is a matrix in double precision.
func dense(single kernel.Matrix[float32]) *mat.Dense {
	m := mat.NewDense(single.Rows, single.Cols, nil)
	for i := range single.Rows {
		for j, x := range single.Row(i) {
			m.Set(i, j, float64(x))
		}
	}
	return m
}

// withBias is a matrix and the column b, divided by what b belongs to, and with carry the row (0, 1), which
// hands a 1 on.
func withBias(w mat.Matrix, b *mat.Dense, unit float64, carry bool) *mat.Dense {
	rows, cols := w.Dims()
	all := rows
	if carry {
		all++
	}
	m := mat.NewDense(all, cols+1, nil)
	for i := range rows {
		for j := range cols {
			m.Set(i, j, w.At(i, j))
		}
		m.Set(i, cols, b.At(0, i)/unit)
	}
	if carry {
		m.Set(rows, cols, 1)
	}
	return m
}

// unit is φ(1).
func (r *theoryReader) unit() float64 {
	if text, _ := r.s.parameters["activation"].(string); text == "tanh" {
		return math.Tanh(1)
	}
	return 1
}

func (r *theoryReader) recurrent(y *Theory) error {
	w, m := r.net.Matrices[0], withBias(r.matrix("M").T(), r.matrix("b"), 1, true)
	out := withBias(r.matrix("Y"), r.matrix("c"), r.unit(), false)
	rows, inputs := m.Dims()
	outputs, _ := out.Dims()
	y.Recurrent = &analysis.Recurrent{W: norms(formed(w)), M: norms(m), Y: norms(out), Steps: r.shape.Steps,
		Width: max(rows, inputs, outputs, 2), Input: r.input}
	switch w.(type) {
	case *weight.SVD[float32], *weight.Factorized[float32]:
		center, _ := sweep.Number(r.s.parameters["sigma_center"])
		radius, _ := sweep.Number(r.s.parameters["r"])
		y.Radius = math.Abs(center-1) + radius
	case *weight.Householder[float32], *weight.Rotations[float32], *weight.Exponential[float32]:
		y.Radius = 0
	}
	return nil
}

func (r *theoryReader) gated(y *Theory, cell *layer.ScalarGated[float32]) error {
	out, c := r.matrix("Y"), r.matrix("c")
	outputs, n := out.Dims()
	v, bias := mat.NewVecDense(n, nil), c.At(0, 0)
	switch {
	case outputs == 1:
		v.CopyVec(out.RowView(0))
	case outputs == 2 && r.shape.Loss == "cross_entropy": // the softmax knows their difference alone
		v.SubVec(out.RowView(1), out.RowView(0))
		bias = c.At(0, 1) - bias
	default:
		return fmt.Errorf("%w: theorem 1 of the SGORNN paper has one output, and this network %d", ErrNoBound, outputs)
	}
	alpha, beta, _ := cell.Gates()
	w := withBias(r.matrix("M").T(), r.matrix("b"), 1, false)
	y.Gated = &analysis.Gated{Alpha: alpha, Beta: beta, Steps: r.shape.Steps, Input: r.input,
		Weights: mat.Norm(w, 2), Output: mat.Norm(v, 2), U: norms(formed(r.net.Matrices[0]))}
	// ln(1 + e^z) of the largest |z| that ‖h(T)‖ ≤ αT R_W R_x allows
	z := y.Gated.Constant()*alpha*float64(r.shape.Steps) + math.Abs(bias)
	y.MaxLoss = z + math.Log1p(math.Exp(-z))
	return nil
}

func (r *theoryReader) feedForward(y *Theory) error {
	if text, _ := r.s.parameters["activation"].(string); text == "tanh" {
		return fmt.Errorf("%w: the bound of feed-forward networks needs ReLU, or a leaky one", ErrNoBound)
	}
	y.FeedForward = &analysis.FeedForward{Input: r.input}
	for number, w := range r.net.Matrices {
		m := withBias(formed(w), r.matrix(fmt.Sprintf("%d.b", number)), 1, true)
		rows, _ := m.Dims()
		y.FeedForward.Width = max(y.FeedForward.Width, rows)
		y.FeedForward.Layers = append(y.FeedForward.Layers, norms(m))
	}
	out := withBias(r.matrix("Y"), r.matrix("c"), 1, false)
	y.FeedForward.Layers = append(y.FeedForward.Layers, norms(out))
	return nil
}
