package model

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sweep/model/analysis"
	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/system"
	"sweep/model/task"
	"sweep/sweep"
)

// kept is a sink that keeps the weights.
type kept struct {
	*collector
	weights []byte
}

func (k *kept) Artifact(_ sweep.Artifact, content io.Reader) (err error) {
	k.weights, err = io.ReadAll(content)
	return err
}

// theoryOf trains a trial and measures its network.
func theoryOf(t *testing.T, point sweep.Parameters) (*Theory, *sweep.Result, error) {
	t.Helper()
	trainer, sink := newTrainer(t), &kept{collector: newCollector()}
	request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, point)}, Artifacts: []string{WeightsArtifact}}
	result, err := trainer.Train(context.Background(), request, sink)
	if err != nil {
		t.Fatal(err)
	}
	theory, err := trainer.Theory(context.Background(), sink.weights, "")
	return theory, result, err
}

// TestTheory holds what is measured to the trial's own result and to what the system guarantees.
func TestTheory(t *testing.T) {
	trained := map[string]bool{"spectral-rnn": true, "ornn": true, "rnn": true} // h(0)
	for _, c := range []struct {
		point    sweep.Parameters
		spectral float64 // the least and most norm of W is 1 ± spectral; NaN for any
	}{
		{sweep.Parameters{"model": "spectral-rnn", "r": .05}, .05},
		{sweep.Parameters{"model": "ornn", "refit": 0., "average": 0., "activation": "tanh"}, 0},
		{sweep.Parameters{"model": "vprnn", "initial_state": "zero"}, 0},
		{sweep.Parameters{"model": "rnn"}, math.NaN()},
		{sweep.Parameters{"model": "mlp", "layers": int64(2)}, math.NaN()},
		{sweep.Parameters{"model": "spectral-mlp", "layers": int64(3), "activation": "relu"}, math.NaN()},
		{sweep.Parameters{"model": "sgornn", "dataset": "generated-har-2", "epoch_rule": "final", "refit": .5}, 0},
		{sweep.Parameters{"model": "fastrnn", "dataset": "generated-har-2", "epoch_rule": "final", "refit": .5},
			math.NaN()},
	} {
		if c.point["dataset"] == nil {
			c.point["dataset"] = "generated-cbf"
		}
		c.point["epochs"], c.point["hidden"] = int64(4), int64(16)
		y, result, err := theoryOf(t, c.point)
		if err != nil {
			t.Errorf("%v: %v", c.point, err)
			continue
		}
		for _, k := range []struct {
			what      string
			got, want float64
		}{
			{"error of the test rows", analysis.MarginLoss(y.Test, 0), 1 - result.Summary["test_accuracy"]},
			{"test loss", y.TestLoss, result.Summary["test_loss"]},
		} {
			if !(math.Abs(k.got-k.want) < 1e-6) {
				t.Errorf("%v: %s is %v, the result has %v", c.point, k.what, k.got, k.want)
			}
		}
		rows := int(result.Summary["train_size"])
		if c.point["refit"] == 0. {
			rows -= rows / 5 // held out, and never trained on
		}
		if len(y.Train) != rows || y.TrainLoss <= 0 || y.Start > 0 != trained[c.point["model"].(string)] {
			t.Errorf("%v: %d training rows of %d, loss %v, ‖h(0)‖ %v", c.point, len(y.Train), rows, y.TrainLoss, y.Start)
		}
		allowed := 1. // of the gated network with equation 3: no step's Jacobian is larger
		if y.Recurrent != nil {
			allowed = math.Pow(1+c.spectral, float64(y.Recurrent.Steps)) + 1e-5
		}
		if !(y.Jacobian > 0) != (y.FeedForward != nil) || y.Jacobian > allowed {
			t.Errorf("%v: ‖∂h(T)/∂h(0)‖ = %v, at most %v", c.point, y.Jacobian, allowed)
		}
		switch {
		case y.Recurrent != nil:
			if w := y.Recurrent.W; math.Abs(w.Spectral-1) > c.spectral+1e-5 || !math.IsNaN(c.spectral) &&
				math.Abs(y.Radius-c.spectral) > 1e-12 {
				t.Errorf("%v: the norm of W is %v, the radius %v", c.point, w.Spectral, y.Radius)
			}
			if y.Recurrent.Width != 17 || y.Recurrent.Steps != 16 {
				t.Errorf("%v: %+v", c.point, y.Recurrent)
			}
		case y.Gated != nil:
			if math.Abs(y.Gated.U.Spectral-1) > c.spectral+1e-5 || y.Gated.Steps != 128 ||
				y.MaxLoss < y.TestLoss {
				t.Errorf("%v: %+v, largest loss %v", c.point, y.Gated, y.MaxLoss)
			}
			theta, weights := y.Gated.Gradients(16)
			if y.ThetaGradient > 0 != (c.point["model"] == "sgornn") || y.ThetaGradient > theta ||
				!(y.InputGradient > 0) || y.InputGradient > weights {
				t.Errorf("%v: gradients %v of at most %v and %v of at most %v", c.point, y.ThetaGradient, theta,
					y.InputGradient, weights)
			}
		default:
			if len(y.FeedForward.Layers) != int(c.point["layers"].(int64))+1 || y.FeedForward.Width != 17 {
				t.Errorf("%v: %+v", c.point, y.FeedForward)
			}
		}
	}
	for _, point := range []sweep.Parameters{
		{"model": "lstm"}, {"model": "rnn", "layers": int64(2)}, {"model": "sgornn"}, {"model": "rnn", "loss": "mse"},
		{"model": "spectral-resnet", "layers": int64(3)}, {"model": "mlp", "layers": int64(2), "activation": "tanh"},
		{"model": "rnn", "dataset": "addition", "length": int64(10), "steps": int64(4), "examples": int64(50)},
	} {
		if point["dataset"] == nil {
			point["dataset"], point["epochs"] = "generated-cbf", int64(2)
		}
		point["hidden"] = int64(16)
		if _, _, err := theoryOf(t, point); !errors.Is(err, ErrNoBound) {
			t.Errorf("%v: %v, want that there is no bound", point, err)
		}
	}
	if _, err := newTrainer(t).Theory(context.Background(), bytes.Repeat([]byte{1}, 100), ""); err == nil {
		t.Error("an artifact that is none has bounds")
	}
}

// TestNetworkJacobian: without φ the Jacobian is W^T, whatever the slices; with the gates of an LSTM its rows give the
// gradient at (h(0), c(0)) of any weighted sum of (h(T), c(T)), which central differences give, too.
func TestNetworkJacobian(t *testing.T) {
	c := newCandidate(t, system.Find("rnn"), "trained")
	c.settings.parameters["activation"] = "linear"
	n := assemble(t, c, kernel.Float64(), 2, math.MaxInt64)
	w := kernel.NewMatrix[float64](n.Matrices[0].Shape())
	n.Matrices[0].Value(w)
	one := mat.NewDense(w.Rows, w.Cols, nil)
	for i := range w.Rows {
		one.SetRow(i, w.Row(i))
	}
	var want mat.Dense
	want.Pow(one, c.steps)
	j := n.Jacobian(minibatch(c, n))
	for i := range j.Rows {
		for k, x := range j.Row(i) {
			if math.Abs(x-want.At(i, k)) > 1e-12 {
				t.Fatalf("∂h_%d(T)/∂h_%d(0) is %v, want %v", i, k, x, want.At(i, k))
			}
		}
	}

	c = newCandidate(t, system.Find("lstm"), "trained")
	n = assemble(t, c, kernel.Float64(), 0, math.MaxInt64)
	b := minibatch(c, n)
	j = n.Jacobian(b)
	pass := n.Stack.NewPass(n.Limits(1, math.MaxInt64))
	x := kernel.NewMatrix[float64](b.Steps, b.X.Cols)
	_, rows := task.Cut(b.Size, n.Rows())
	for i := range x.Rows {
		copy(x.Row(i), b.X.Row(i*rows))
	}
	last := func() (all []float64) {
		n.Changed()
		n.Form()
		_, to := pass.Forward(layer.Input[float64]{Steps: b.Steps, Batch: 1, X: x, Still: true}, nil, false)
		for _, m := range to {
			all = append(all, m.Row(0)...)
		}
		return all
	}
	const step = 1e-6
	column := 0
	for _, name := range []string{"h0", "c0"} {
		for i := range n.Arena.View(name).Value {
			at := &n.Arena.View(name).Value[i]
			*at += step
			above := last()
			*at -= 2 * step
			below := last()
			*at += step
			for k := range above {
				if got, want := j.Row(k)[column], (above[k]-below[k])/(2*step); math.Abs(got-want) > 1e-7 {
					t.Fatalf("the state's %d by %s %d is %v, by differences %v", k, name, i, got, want)
				}
			}
			column++
		}
	}
}

// TestWithBias: the network with its biases in the matrices, as section 6 has it, gives what the network gives.
func TestWithBias(t *testing.T) {
	m, b := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6}), mat.NewDense(1, 2, []float64{7, 8})
	y, c, unit := mat.NewDense(1, 2, []float64{2, -1}), mat.NewDense(1, 1, []float64{5}), math.Tanh(1)
	var h, out, want mat.Dense
	h.Mul(withBias(m, b, 1, true), mat.NewDense(4, 1, []float64{.1, -.2, .3, 1}))
	h.Apply(func(_, _ int, x float64) float64 { return math.Tanh(x) }, &h)
	out.Mul(withBias(y, c, unit, false), &h)
	want.Mul(m, mat.NewDense(3, 1, []float64{.1, -.2, .3}))
	want.Add(&want, b.T())
	plain := 2*math.Tanh(want.At(0, 0)) - math.Tanh(want.At(1, 0)) + 5
	if got := out.At(0, 0); math.Abs(got-plain) > 1e-12 {
		t.Errorf("the output is %v, want %v", got, plain)
	}
	if got := norms(mat.NewDense(2, 2, []float64{0, 3, 4, 0})); math.Abs(got.Spectral-4) > 1e-12 ||
		math.Abs(got.Frobenius-5) > 1e-12 {
		t.Errorf("norms %+v", got)
	}
	if got := norms(mat.NewDense(1, 1, []float64{math.Inf(1)})); !math.IsNaN(got.Spectral) {
		t.Errorf("norms of an infinite matrix are %+v", got)
	}
	for _, k := range []struct {
		outputs []float32
		class   int
		want    float64
	}{{[]float32{2}, 1, 2}, {[]float32{2}, 0, -2}, {[]float32{1, 4, 2}, 1, 2}, {[]float32{1, 4, 2}, 2, -2}} {
		if got := marginOf(k.outputs, k.class); got != k.want {
			t.Errorf("the margin of %v, class %d, is %v, want %v", k.outputs, k.class, got, k.want)
		}
	}
}
