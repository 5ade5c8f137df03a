package model

import "sweep/sweep"

// Versions of the built-in trainer. resultVersion changes whenever the same
// parameters give other bits.
const (
	Name          = sweep.DefaultTrainer
	Version       = "0.1.0"
	resultVersion = "5"
)

// description is the built-in trainer's schema. The defaults are the settings
// that reach the UCR table of Zhang, Lei, Dhillon (2018): Adam, batch 16, 1000
// epochs (LSTM and GRU 500), gradient norm clipped at 1, small starts.
func description() *sweep.Description {
	pixel := sweep.Match{"dataset": {"mnist", "permuted-mnist"}}
	gated := sweep.Match{"model": {"lstm", "gru"}}
	return &sweep.Description{
		Name:          Name,
		Version:       Version,
		ResultVersion: resultVersion,
		Parameters: []sweep.ParameterSchema{
			{Name: "dataset", Type: sweep.StringType, Required: true, Dataset: true,
				Doc: "data set: a UCR set by folder or paper name (CBF, 50words), generated-cbf, mnist, permuted-mnist"},
			{Name: "exchange", Type: sweep.StringType, Default: "auto", Enum: values("auto", "yes", "no"), Dataset: true,
				Doc: "exchange a UCR set's train and test files; auto exchanges the three Phalanx sets of the 2018 archive, whose split is the paper's the other way round"},
			{Name: "limit", Type: sweep.IntegerType, Default: int64(0), Minimum: ptr(0), Dataset: true,
				Doc: "use at most so many rows of mnist's training and test sets; 0 uses all"},
			{Name: "permutation", Type: sweep.IntegerType, Default: int64(1), Minimum: ptr(0), Dataset: true,
				Doc: "seed of permuted-mnist's fixed permutation"},
			{Name: "input_size", Type: sweep.IntegerType, Default: int64(0), Minimum: ptr(0), Defaults: []sweep.ConditionalDefault{{When: pixel, Value: int64(1)}},
				Doc: "inputs per time step n_i, a divisor of the length; 0 takes the largest divisor not above the length's square root (50words: 10); 1 gives mnist 784 steps"},
			{Name: "order", Type: sweep.StringType, Default: "pieces", Enum: values("pieces", "strided", "reversed", "pieces-reversed"),
				Doc: "how a series becomes steps: successive pieces of n_i, strided (x_t = s_t, s_{t+T}, …), reversed (the whole series backwards), pieces-reversed (the pieces backwards)"},
			{Name: "validation", Type: sweep.NumberType, Default: 0.2, Minimum: ptr(0), ExclusiveMinimum: true, Maximum: ptr(0.9), Defaults: []sweep.ConditionalDefault{{When: pixel, Value: 0.1}},
				Doc: "share of the training set held out for validation, drawn by the seed"},
			{Name: "model", Type: sweep.StringType, Default: "spectral-rnn", Enum: values("rnn", "irnn", "lstm", "gru", "ornn", "spectral-rnn"),
				Doc: "recurrent network"},
			{Name: "hidden", Type: sweep.IntegerType, Default: int64(32), Minimum: ptr(1), Maximum: ptr(8192), Defaults: []sweep.ConditionalDefault{{When: pixel, Value: int64(128)}},
				Doc: "hidden units n"},
			{Name: "m1", Type: sweep.IntegerType, Default: int64(16), Minimum: ptr(1),
				Doc: "reflectors of U (spectral-rnn) or of the orthogonal transition matrix (ornn)"},
			{Name: "m2", Type: sweep.IntegerType, Default: int64(16), Minimum: ptr(1),
				Doc: "reflectors of V (spectral-rnn)"},
			{Name: "r", Type: sweep.NumberType, Default: 0.1, Minimum: ptr(0),
				Doc: "largest deviation of a singular value from sigma_center (spectral-rnn)"},
			{Name: "sigma_center", Type: sweep.NumberType, Default: int64(1), Minimum: ptr(0), ExclusiveMinimum: true, Maximum: ptr(1000),
				Doc: "centre σ* of the singular values (spectral-rnn)"},
			{Name: "activation", Type: sweep.StringType, Default: "leaky_relu", Enum: values("linear", "relu", "leaky_relu", "tanh"),
				Doc: "activation φ of rnn, irnn, ornn and spectral-rnn"},
			{Name: "slope", Type: sweep.NumberType, Default: 0.2, Minimum: ptr(0), Maximum: ptr(1),
				Doc: "slope of leaky_relu below zero"},
			{Name: "start", Type: sweep.StringType, Default: "random", Enum: values("random", "near-identity", "identity", "orthogonal"),
				Defaults: []sweep.ConditionalDefault{{When: sweep.Match{"model": {"irnn"}}, Value: "orthogonal"}},
				Doc:      "start of the transition matrix: random (all), near-identity (ornn, spectral-rnn), identity or orthogonal (rnn, irnn)"},
			{Name: "initial_state", Type: sweep.StringType, Default: "trained", Enum: values("trained", "zero"),
				Doc: "whether h(0), and c(0) of lstm, are trained from zero or stay zero"},
			{Name: "input_scale", Type: sweep.NumberType, Default: 0.25, Minimum: ptr(0),
				Doc: "standard deviation of the input matrix's start, times √n_i"},
			{Name: "output_scale", Type: sweep.NumberType, Default: 0.05, Minimum: ptr(0),
				Doc: "standard deviation of the output matrix's start, times √n"},
			{Name: "forget_bias", Type: sweep.NumberType, Default: int64(1),
				Doc: "start of lstm's forget-gate bias"},
			{Name: "dropout", Type: sweep.NumberType, Default: int64(0), Minimum: ptr(0), Maximum: ptr(0.95),
				Doc: "share of the last hidden state that is dropped in training"},
			{Name: "loss", Type: sweep.StringType, Default: "cross_entropy", Enum: values("cross_entropy", "mse"),
				Doc: "training loss: softmax cross entropy, or mean squared error against one-hot rows"},
			{Name: "optimizer", Type: sweep.StringType, Default: "adam", Enum: values("adam", "rmsprop", "sgd"),
				Doc: "optimiser"},
			{Name: "lr", Type: sweep.NumberType, Default: 0.001, Minimum: ptr(0), ExclusiveMinimum: true,
				Doc: "learning rate ρ of the first epoch"},
			{Name: "decay", Type: sweep.NumberType, Default: int64(1), Minimum: ptr(0), ExclusiveMinimum: true, Maximum: ptr(1),
				Doc: "decay α: epoch e (from 0) trains with ρ·α^e"},
			{Name: "beta1", Type: sweep.NumberType, Default: 0.9, Minimum: ptr(0), Maximum: ptr(1), Doc: "decay of adam's first moment"},
			{Name: "beta2", Type: sweep.NumberType, Default: 0.999, Minimum: ptr(0), Maximum: ptr(1), Doc: "decay of adam's, and of rmsprop's, second moment"},
			{Name: "epsilon", Type: sweep.NumberType, Default: 1e-8, Minimum: ptr(0), ExclusiveMinimum: true, Doc: "added to the root of the second moment"},
			{Name: "momentum", Type: sweep.NumberType, Default: int64(0), Minimum: ptr(0), Maximum: ptr(1), Doc: "momentum of sgd"},
			{Name: "clip", Type: sweep.NumberType, Default: int64(1), Minimum: ptr(0), Doc: "largest global gradient norm; 0 does not clip"},
			{Name: "batch", Type: sweep.IntegerType, Default: int64(16), Minimum: ptr(1), Defaults: []sweep.ConditionalDefault{{When: pixel, Value: int64(128)}},
				Doc: "minibatch size B"},
			{Name: "epochs", Type: sweep.IntegerType, Default: int64(1000), Minimum: ptr(1), Defaults: []sweep.ConditionalDefault{{When: pixel, Value: int64(10)}, {When: gated, Value: int64(500)}},
				Doc: "passes over the training set"},
			{Name: "epoch_rule", Type: sweep.StringType, Default: "last-smallest-error", Enum: values("last-smallest-error", "first-smallest-error", "smallest-loss", "final"),
				Doc: "the epoch whose weights are kept and tested: the last or first at which the validation error is smallest, the one with the smallest validation loss, or the final one"},
			{Name: "test_every", Type: sweep.IntegerType, Default: int64(0), Minimum: ptr(-1),
				Doc: "epochs between points of the test curve; 0 spaces at most 20 over the trial, -1 tests the kept weights alone"},
			{Name: "seed", Type: sweep.IntegerType, Default: int64(1), Minimum: ptr(0), Doc: "seed of the split, the start and the order of the batches"},
		},
		Metrics: []sweep.MetricSchema{
			{Name: "train_loss", Doc: "mean training loss of the epoch", Goal: "minimize", Unit: "nats", Curve: true, Summary: true},
			{Name: "validation_loss", Doc: "validation loss; in the summary the smallest of the trial", Goal: "minimize", Unit: "nats", Curve: true, Summary: true},
			{Name: "validation_accuracy", Doc: "validation accuracy; in the summary that of the kept weights", Goal: "maximize", Curve: true, Summary: true},
			{Name: "test_accuracy", Doc: "test accuracy; in the summary that of the kept weights", Goal: "maximize", Curve: true, Summary: true},
			{Name: "test_loss", Doc: "test loss of the kept weights", Goal: "minimize", Unit: "nats", Summary: true},
			{Name: "gradient_norm", Doc: "norm of the loss's gradient at h(0), mean over the epoch's minibatches", Curve: true},
			{Name: "spectral_margin", Doc: "max |σ_i − 1| over the transition matrix's singular values", Curve: true, Summary: true},
			{Name: "learning_rate", Doc: "learning rate of the epoch", Curve: true},
			{Name: "seconds", Doc: "seconds since the trial started", Unit: "s", Volatile: true, Curve: true},
			{Name: "train_size", Doc: "training series, validation included", Summary: true},
			{Name: "test_size", Doc: "test series", Summary: true},
			{Name: "length", Doc: "values a series", Summary: true},
			{Name: "classes", Doc: "classes", Summary: true},
			{Name: "depth", Doc: "time steps T", Summary: true},
			{Name: "input_size", Doc: "inputs a step n_i", Summary: true},
		},
	}
}

func values(names ...string) []any {
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	return list
}

func ptr(x float64) *float64 { return &x }
