package task

import (
	"sweep/model/dataset"
	"sweep/model/loss"
	"sweep/sweep"
)

var classification = Kind{
	Name:   "classification",
	Doc:    "which class a series is of, asked after its last step",
	Source: "Zhang, Lei and Dhillon 2018, §7.2 and appendix C",
	Parameters: []*sweep.ParameterSchema{
		&exchange, &limit, &permutation, &normalize, &missing, &inputSize, &inputOrder, &split, &validation, &lossName,
		&epochs, &testEvery, &gapCurves, &fgsm, &classMetrics,
	},
	Measures: []*Measure{&accuracy},
	open:     openClassification,
}

var (
	exchange = sweep.ParameterSchema{
		Name: "exchange", Measures: true, Type: sweep.StringType, Default: "auto", Enum: []any{"auto", "yes", "no"},
		Dataset: true,
		Doc: "exchange a UCR set's train and test files; auto exchanges the three Phalanx sets of the 2018 archive, " +
			"whose split is the paper's the other way round",
	}
	limit = sweep.ParameterSchema{
		Name: "limit", Measures: true, Type: sweep.IntegerType, Default: int64(0), Minimum: new(0.0), Dataset: true,
		Doc: "use at most so many images of mnist's training and test sets; 0 uses all",
	}
	permutation = sweep.ParameterSchema{
		Name: "permutation", Measures: true, Type: sweep.IntegerType, Default: int64(1), Minimum: new(0.0),
		Dataset: true,
		Doc:     "seed of permuted-mnist's fixed permutation",
	}
	normalize = sweep.ParameterSchema{
		Name: "normalize", Type: sweep.StringType, Default: string(dataset.NormalizeNone),
		Neutral: string(dataset.NormalizeNone),
		Enum:    []any{string(dataset.NormalizeNone), string(dataset.NormalizeChannel)},
		Doc: "none takes the values as they are in the files; channel subtracts each channel's mean and divides by " +
			"its standard deviation, both over the archive's training set alone, rows held out for validation " +
			"included (har-2 has nine channels, speech 40, own/NAME its own, other sets one)",
	}
	missing = sweep.ParameterSchema{
		Name: "missing", Type: sweep.StringType, Default: string(dataset.MissingPrevious),
		Neutral: string(dataset.MissingPrevious),
		Enum: []any{string(dataset.MissingPrevious), string(dataset.MissingMean),
			string(dataset.MissingIndicators)},
		Doc: "what a network reads where a value of own/NAME is missing: previous, the channel's value before it " +
			"(its mean in the training set before the first); mean, that mean; indicators, the mean and as many " +
			"further inputs as channels, 1 where the value is missing, else 0",
	}
	inputSize = sweep.ParameterSchema{
		Name: "input_size", Type: sweep.IntegerType, Default: int64(0), Minimum: new(-1.0),
		Doc: "inputs per time step n_i, a divisor of the length; -1 takes the whole series as one step, 0 the " +
			"largest divisor not above the length's square root (50words: 10), or all channels of one time (har-2, " +
			"own/NAME); 1 gives mnist 784 steps. Where lengths differ n_i is a multiple of the channels, by default " +
			"of one channel the longest length's square root, and a series has the steps that it fills",
	}
	inputOrder = sweep.ParameterSchema{
		Name: "order", Type: sweep.StringType, Default: "pieces", Enum: []any{"pieces", "strided", "reversed",
			"pieces-reversed"},
		Doc: "how a series becomes steps: successive pieces of n_i, strided (x_t = s_t, s_{t+T}, …), reversed (the " +
			"whole series backwards), pieces-reversed (the pieces backwards)",
	}
	validation = sweep.ParameterSchema{
		Name: "validation", Measures: true, Type: sweep.NumberType, Default: 0.2, Minimum: new(0.0),
		AppliesWhen: sweep.Match{"split": {"random", "stratified"}}, Maximum: new(0.9),
		Doc: "share of the training set held out for validation, drawn by the seed; 0, which wants epoch_rule final, " +
			"trains on all of it from the first epoch: there are no validation metrics then, and a sweep file has to " +
			"name another one in select",
	}
	split = sweep.ParameterSchema{
		Name: "split", Measures: true, Type: sweep.StringType, Default: "random",
		Enum: []any{"random", "stratified", "listed"},
		Doc: "how series for validation are chosen: drawn from all alike (random), which may leave a small class " +
			"without one, or from each class its share (stratified); or those of the set's own list (listed; speech, " +
			"generated-speech, own/NAME with a file for validation)",
	}
	lossName = sweep.ParameterSchema{
		Name: "loss", Measures: true, Type: sweep.StringType, Default: "cross_entropy",
		Enum: []any{"cross_entropy", "mse", "sigmoid"},
		Doc: "training loss: softmax cross entropy; or against one-hot rows (har-2: against the class, 0 or 1, of " +
			"its one output) the mean squared error or the cross entropy of the sigmoid of each output",
	}
	epochs = sweep.ParameterSchema{
		Name: "epochs", Budget: true, Type: sweep.IntegerType, Default: int64(1000), Minimum: new(1.0),
		Doc: "passes over the training set",
	}
	testEvery = sweep.ParameterSchema{
		Name: "test_every", Measures: true, Type: sweep.IntegerType, Default: int64(0), Minimum: new(-1.0),
		Doc: "epochs between points of the test curve; 0 spaces at most 20 over the trial, " +
			"-1 tests the kept weights alone",
	}
)

// gapCurves is false by default because equal trials must repeat their curves bit by bit.
var gapCurves = sweep.ParameterSchema{
	Name: "gap_curves", Measures: true, Type: sweep.BooleanType, Default: false, Neutral: false,
	Doc: "also record test_loss, train_accuracy, loss_gap and accuracy_gap wherever the test curve has a point",
}

var fgsm = sweep.ParameterSchema{
	Name: "fgsm", Measures: true, Type: sweep.NumberType, Default: int64(0), Neutral: int64(0), Minimum: new(0.0),
	Maximum: new(1e6),
	Doc: "ε of the adversarial examples x + ε sign(∂L/∂x) of the test rows (fast gradient sign method, Goodfellow et " +
		"al. 2015), of which fgsm_accuracy is the accuracy; 0 has none",
}

var classMetrics = sweep.ParameterSchema{
	Name: "class_metrics", Measures: true, Type: sweep.BooleanType, Default: false, Neutral: false,
	Doc: "also record test_f1_macro, the mean of F1 over the classes",
}

// classified is a data set made ready for one trial: cut into steps, and the rows to
// train and to validate on.
type classified struct {
	parts
	set             *dataset.Set
	order           dataset.Order
	steps, inputs   int
	uneven          bool // steps is that of the longest
	train, testPart *dataset.Sequences
}

func openClassification(o *Options) (Task, error) {
	if name := o.Text("dataset"); !dataset.IsOwn(name) && o.Text("missing") == string(dataset.MissingIndicators) {
		return nil, o.Refuse("missing", "has no effect here: %s lacks no values", name)
	}
	set, err := o.Cache.Open(o.DataDir, o.reference())
	if err != nil {
		return nil, &sweep.DataError{Dataset: o.Text("dataset"), Err: err}
	}
	return Classify(set, o)
}

// Classify is the classification of a data set.
func Classify(set *dataset.Set, o *Options) (Task, error) {
	c := &classified{set: set, parts: parts{options: o}}
	var err error
	if c.order, err = dataset.ParseOrder(o.Text("order")); err != nil {
		return nil, o.Refuse("order", "%v", err)
	}
	if set.OutputWidth == 1 && o.Text("loss") == "cross_entropy" {
		return nil, o.Refuse("loss", "needs an output for each class, where %s has one: want sigmoid or mse", set.Name)
	}
	if err := c.shape(); err != nil {
		return nil, err
	}
	return c, c.split()
}

// shape sets depth T and input size n_i.
func (c *classified) shape() error {
	o, set := c.options, c.set
	asked := o.Integer("input_size")
	inputs := asked
	if inputs == 0 {
		inputs = set.InputSize
	}
	if inputs < 0 {
		inputs = set.Length
	}
	if o.FeedForward && inputs != set.Length {
		return o.Refuse("input_size", "model %s reads the whole series at once: want -1", o.Model)
	}
	c.steps, c.inputs = (set.Length+inputs-1)/inputs, inputs
	switch {
	case inputs == set.Length:
	case set.Train.Lengths == nil && set.Length%inputs != 0:
		return o.Refuse("input_size", "must divide the length %d of %s's series", set.Length, set.Name)
	case set.Train.Lengths != nil:
		if width := set.Preparation.Width(); inputs > set.Length || inputs%width != 0 {
			return o.Refuse("input_size", "must be a multiple of %d, the inputs at one time, and at most %d, as %s's "+
				"series have different lengths", width, set.Length, set.Name)
		}
		c.uneven = true
	}
	return nil
}

// split parts the training set.
func (c *classified) split() error {
	o, set := c.options, c.set
	if o.Protocol.Split == dataset.SplitListed {
		if set.Listed == 0 {
			return o.Refuse("split", "needs a list of series to validate on, which %s lacks: want random or stratified",
				set.Name)
		}
		all := upTo(set.Train.N)
		at := set.Train.N - set.Listed
		c.rows[Train], c.rows[Validation], c.rows[Test] = all[:at], all[at:], upTo(set.Test.N)
		return nil
	}
	c.rows[Train], c.rows[Validation] = dataset.Split(set.Train.Labels, o.Protocol.Split, o.Protocol.Validation, o.Seed)
	c.rows[Test] = upTo(set.Test.N)
	switch {
	case o.Protocol.Validation == 0, len(c.rows[Validation]) > 0:
		return nil
	case set.Train.N == 1 && o.Integer("limit") > 0:
		return o.Refuse("limit", "leaves no series to validate on: want at least 2")
	}
	return o.Refuse("split", "leaves none of %s's %d series to validate on: no class has two", set.Name, set.Train.N)
}

func (c *classified) Shape() Shape {
	return Shape{Steps: c.steps, Inputs: c.inputs, Outputs: c.set.OutputWidth, Classes: true,
		Loss: c.options.Text("loss"), Every: c.uneven, Padded: c.uneven, Single: c.uneven}
}

func (c *classified) Digest() string { return c.set.Digest }

func (c *classified) Facts() map[string]float64 {
	facts := map[string]float64{
		"train_size": float64(c.set.Train.N), "test_size": float64(c.set.Test.N),
		"length": float64(c.set.Length), "classes": float64(c.set.Classes),
		"depth": float64(c.steps), "input_size": float64(c.inputs),
	}
	if c.set.Listed > 0 {
		facts["missing_files"] = float64(c.set.Missing)
	}
	return facts
}

func (c *classified) Notes() []string { return c.set.Notes }

// Memory counts the set, and its series once more if they are not taken as they are.
func (c *classified) Memory() int64 {
	if c.order == dataset.OrderPieces && !c.uneven {
		return c.set.Size()
	}
	return 2 * c.set.Size()
}

func (c *classified) Open(part Part, wanted int) (Stream, error) {
	from, sequences := &c.set.Train, &c.train
	if part == Test {
		from, sequences = &c.set.Test, &c.testPart
	}
	if *sequences == nil {
		arranged, err := dataset.Arrange(from, c.order, c.steps, c.inputs)
		if err != nil {
			return nil, err
		}
		*sequences = arranged
	}
	return &series{from: *sequences, labels: from.Labels, minibatches: c.minibatches(part, wanted)}, nil
}

// series is the stream of a part of a classified data set.
type series struct {
	minibatches
	from   *dataset.Sequences
	labels []int
}

func (s *series) Next(b *Batch[float32]) bool {
	rows := s.next()
	if len(rows) == 0 {
		return false
	}
	steps := 0
	for _, row := range rows {
		steps = max(steps, s.from.StepsOf(row))
	}
	b.Reset(steps, len(rows), false)
	_, size := Cut(b.Size, b.slice)
	for from := 0; from < len(rows); from += size {
		s.from.GatherSteps(b.X.Data[from*b.Steps*b.X.Cols:], rows[from:min(from+size, len(rows))], steps)
	}
	if b.shape.Single {
		for i := range b.Targets.Classes {
			b.Targets.Classes[i] = loss.NoTarget
		}
	}
	for i, row := range rows {
		if b.shape.Single { // what follows a sequence's last step has no part in its output
			first, apart := b.rowsOf(i)
			i = first + (s.from.StepsOf(row)-1)*apart
		}
		b.Targets.Classes[i] = s.labels[row]
	}
	return true
}
