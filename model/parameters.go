package model

import (
	"slices"

	"sweep/model/protocol"
	"sweep/model/system"
	"sweep/model/task"
	"sweep/sweep"
)

// Conditions of parameters.
var (
	recurrent   = sweep.Match{"model": system.Recurrent()}
	words       = sweep.Match{"task": {"language"}}
	exponential = sweep.Match{"schedule": {"exponential"}}
	adam        = sweep.Match{"optimizer": {"adam"}}
	rmsprop     = sweep.Match{"optimizer": {"rmsprop"}}
)

// parameters are those of the trainer in their order. Those that not every system or task has, and
// defaults for some data sets, tasks or systems alone, stand with these.
func parameters() []sweep.ParameterSchema {
	systems, tasks := system.Variants(), task.Variants()
	own := systems.Parameters()
	list := slices.Concat(
		[]sweep.ParameterSchema{datasetParameter, task.Parameter()}, tasks.Parameters(),
		[]sweep.ParameterSchema{
			{Name: "model", Type: sweep.StringType, Default: "spectral-rnn", Enum: systems.Names(),
				Doc: "network" + systems.Doc()},
			hiddenParameter, system.Depth,
		}, own, system.TopParameters(), networkParameters, []sweep.ParameterSchema{openEndedParameter},
		optimizerParameters, protocol.Parameters(),
		[]sweep.ParameterSchema{gradientsParameter, reportParameter, seedParameter},
	)
	for i := range list {
		p := &list[i]
		of, sets := tasks.Defaults(p.Name), task.Defaults(p.Name)
		switch {
		case slices.ContainsFunc(own, func(o sweep.ParameterSchema) bool { return o.Name == p.Name }):
			p.Defaults = slices.Concat(p.Defaults, sets, systems.Defaults(p.Name), of)
		case p.Name == "refit": // what an open end excludes goes first
			p.Defaults = slices.Concat(p.Defaults, of, sets, systems.Defaults(p.Name))
		case p.Name == "input_size": // what a network can read goes first
			p.Defaults = slices.Concat(systems.Defaults(p.Name), of, sets)
		default:
			p.Defaults = slices.Concat(of, sets, p.Defaults, systems.Defaults(p.Name))
		}
	}
	return list
}

var (
	datasetParameter = sweep.ParameterSchema{
		Name: "dataset", Type: sweep.StringType, Required: true, Dataset: true, Measures: true,
		Doc: "data set: a UCR set by folder or paper name (CBF, 50words), generated-cbf, mnist, " +
			"permuted-mnist, generated-mnist, har-2, generated-har-2, speech, generated-speech; addition, copy, " +
			"parity, s3-words and s5-words are generated; ptb, generated-text; queries, generated-queries; multilabel, " +
			"generated-multilabel; own/NAME: your own files in that folder of the data directory",
	}
	hiddenParameter = sweep.ParameterSchema{
		Name: "hidden", Type: sweep.IntegerType, Default: int64(32), Minimum: new(1.0), Maximum: new(8192.0),
		Doc: "hidden units n",
	}
	seedParameter = sweep.ParameterSchema{
		Name: "seed", Type: sweep.IntegerType, Default: int64(1), Minimum: new(0.0),
		Doc: "seed of the split, the start and the order of the batches",
	}
)

// networkParameters are those of networks that do not depend on the system.
var networkParameters = []sweep.ParameterSchema{
	{Name: "initial_state", AppliesWhen: recurrent, Type: sweep.StringType, Default: "trained",
		Enum: []any{"trained", "zero"},
		Doc:  "whether h(0), and c(0) of lstm, are trained from zero or stay zero"},
	{Name: "input_scale", AppliesWhen: recurrent, Type: sweep.NumberType, Default: 0.25, Minimum: new(0.0),
		Doc: "standard deviation of the input matrix's start, times √n_i; that of Glorot's start is " +
			"√(2 n_i / (n_i + n))"},
	{Name: "output_scale", Type: sweep.NumberType, Default: 0.05, Minimum: new(0.0),
		Doc: "standard deviation of the output matrix's start, times √n; that of Glorot's start is √(2 n / (n + n_y))"},
	{Name: "dropout", Type: sweep.NumberType, Default: int64(0), Minimum: new(0.0), Maximum: new(0.95),
		Doc: "share of the last layer's hidden states that is dropped in training, and of each recurrent " +
			"layer's below it"},
	{Name: "embedding", AppliesWhen: words, Type: sweep.IntegerType, Default: int64(0), Minimum: new(0.0),
		Maximum: new(8192.0),
		Doc:     "numbers that stand for a word; 0 takes as many as hidden units"},
	{Name: "embedding_dropout", AppliesWhen: words, Type: sweep.NumberType, Default: int64(0),
		Minimum: new(0.0), Maximum: new(0.95),
		Doc: "share of them that is dropped in training"},
}

// gradientsParameter has no part in what a trial learns.
var gradientsParameter = sweep.ParameterSchema{
	Name: "gradient_norms", AppliesWhen: recurrent, Type: sweep.IntegerType, Default: int64(0), Neutral: int64(0),
	Minimum: new(0.0), Maximum: new(1024.0), Measures: true,
	Doc: "time steps t, evenly spread from 0 to the last, of which ‖∂L/∂h(t)‖ has a curve gradient_norm_T, as " +
		"gradient_norm is that of h(0): mean over the epoch's minibatches, of the first recurrent layer; 0 has none",
}

// reportParameter has none, either.
var reportParameter = sweep.ParameterSchema{
	Name: "report_every", Type: sweep.IntegerType, Default: int64(0), Neutral: int64(0), Minimum: new(0.0),
	Measures: true,
	Doc: "minibatches between points of the curves step_train_loss, step_gradient_norm, step_spectral_margin, " +
		"step_alpha, step_beta and step_alpha_t, which count minibatches where others count epochs; the first has a " +
		"point, too; 0 records none",
}

// openEndedParameter says whether a trial can be trained longer.
var openEndedParameter = sweep.ParameterSchema{
	Name: protocol.OpenEnded, Type: sweep.BooleanType, Default: false, Neutral: false,
	Doc: "whether the trial can be continued with more epochs or steps: nothing that it does depends on where it " +
		"ends. There is no refit, the schedule is exponential, and the curves of at most 20 points have them at " +
		"multiples of a power of two",
}

// optimizerParameters are those of the steps of training.
var optimizerParameters = []sweep.ParameterSchema{
	{Name: "optimizer", Type: sweep.StringType, Default: "adam", Enum: []any{"adam", "rmsprop", "sgd"},
		Doc: "optimiser"},
	{Name: "lr", Type: sweep.NumberType, Default: 0.001, Minimum: new(0.0), ExclusiveMinimum: true,
		Doc: "learning rate ρ of the first epoch"},
	{Name: "schedule", Type: sweep.StringType, Default: "exponential", Neutral: "exponential",
		Endless: []any{"exponential"},
		Enum:    []any{"exponential", linearSchedule, cosineSchedule},
		Doc: "how the learning rate falls: exponential by decay, or from lr to 0 over the trial, linear or as half a " +
			"period of a cosine: ρ·(1 + cos(π·s/S))/2 in step s of S (Loshchilov and Hutter 2017)"},
	{Name: "warmup", Type: sweep.IntegerType, Default: int64(0), Neutral: int64(0), Minimum: new(0.0),
		Maximum: new(1e6),
		Doc: "epochs in which the learning rate first rises: step s of these W steps trains with ρ·(s + 1)/W; linear " +
			"and cosine fall over the steps after them"},
	{Name: "decay", AppliesWhen: exponential, Type: sweep.NumberType, Default: int64(1), Minimum: new(0.0),
		ExclusiveMinimum: true, Maximum: new(1.0),
		Doc: "decay α: epoch e (from 0) trains with ρ·α^e; where a task has no epochs the time between " +
			"validations is one"},
	{Name: "decay_every", AppliesWhen: exponential, Type: sweep.IntegerType, Default: int64(1),
		Neutral: int64(1), Minimum: new(1.0),
		Doc: "epochs k between decays: epoch e trains with ρ·α^⌊e/k⌋"},
	{Name: "beta1", AppliesWhen: adam, Type: sweep.NumberType, Default: 0.9,
		Minimum: new(0.0), Maximum: new(1.0), Doc: "decay of adam's first moment"},
	{Name: "beta2", AppliesWhen: adam, Type: sweep.NumberType, Default: 0.999,
		Minimum: new(0.0), Maximum: new(1.0), Doc: "decay of adam's second moment"},
	{Name: "rmsprop_decay", AppliesWhen: rmsprop, Type: sweep.NumberType,
		Default: 0.9, Minimum: new(0.0), Maximum: new(1.0), Doc: "decay of rmsprop's mean square"},
	// The SGORNN paper's code is Keras', which does not correct and has an epsilon of 1e-7.
	{Name: "rmsprop_correction", AppliesWhen: rmsprop, Type: sweep.BooleanType,
		Default: true, Neutral: true,
		Doc: "whether rmsprop's mean square is corrected for its start at 0; without it, as Keras has it, " +
			"the first step is of lr / √(1 - rmsprop_decay)"},
	{Name: "epsilon", AppliesWhen: sweep.Match{"optimizer": {"adam", "rmsprop"}}, Type: sweep.NumberType,
		Default: 1e-8, Minimum: new(0.0), ExclusiveMinimum: true,
		Doc: "added to the root of the second moment (Keras: 1e-7)"},
	{Name: "momentum", AppliesWhen: sweep.Match{"optimizer": {"sgd"}}, Type: sweep.NumberType,
		Default: int64(0), Minimum: new(0.0), Maximum: new(1.0), Doc: "momentum of sgd"},
	{Name: "weight_decay", Type: sweep.NumberType, Default: int64(0), Neutral: int64(0), Minimum: new(0.0),
		Maximum: new(100.0),
		Doc: "λ of the decoupled weight decay (AdamW, Loshchilov and Hutter 2019), with any optimiser: each step first " +
			"multiplies all parameters but those that move on a manifold by 1 - λ times the learning rate"},
	{Name: "clip", Type: sweep.NumberType, Default: int64(1), Minimum: new(0.0),
		Doc: "largest global gradient norm; 0 does not clip"},
	{Name: "batch", Type: sweep.IntegerType, Default: int64(16), Minimum: new(1.0),
		Doc: "minibatch size B"},
}
