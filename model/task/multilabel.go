package task

import (
	"sweep/model/dataset"
	"sweep/sweep"
)

var multiLabel = Kind{
	Name: "multilabel",
	Doc: "which labels a row of sparse features has, any number of them: a sigmoid for each, and the share of right " +
		"ones among the k most probable (precision at k)",
	Source:     "named in Zhang, Lei and Dhillon 2018, §7; measures of the Extreme Classification Repository",
	Datasets:   []string{dataset.MultiLabel, dataset.GeneratedMultiLabel},
	Parameters: []*sweep.ParameterSchema{&indexBase, &split, &validation, &epochs, &testEvery, &gapCurves},
	Defaults: map[string]any{
		"model": "mlp", "hidden": int64(128), "layers": int64(1), "batch": int64(64), "epochs": int64(30),
		"epoch_rule": smallestLoss,
	},
	Measures: precisions,
	open:     openMultiLabel,
}

var indexBase = sweep.ParameterSchema{
	Name: "index_base", Measures: true, Type: sweep.IntegerType, Default: int64(1), Minimum: new(0.0),
	Maximum: new(1.0), Dataset: true,
	Doc: "number of the first feature in multilabel's files: 1, as in SVMlight, or 0, as in the Extreme " +
		"Classification Repository",
}

// labelled is a set of labelled rows made ready for one trial.
type labelled struct {
	parts
	set *dataset.MultiLabelSet
}

func openMultiLabel(o *Options) (Task, error) {
	if !o.FeedForward {
		return nil, o.Refuse("model", "is recurrent, and rows of features are no sequences: want mlp, resnet, "+
			"spectral-mlp or spectral-resnet")
	}
	if o.Text("split") != string(dataset.SplitRandom) {
		return nil, o.Refuse("split", "cannot be used with rows of several labels, which have no class and no list: "+
			"want random")
	}
	set, err := o.Cache.OpenMultiLabel(o.DataDir, o.Text("dataset"), o.Integer(indexBase.Name))
	if err != nil {
		return nil, &sweep.DataError{Dataset: o.Text("dataset"), Err: err}
	}
	l := &labelled{set: set, parts: parts{options: o}}
	l.rows[Train], l.rows[Validation] = dataset.Split(make([]int, set.Train.Count()), dataset.SplitRandom,
		o.Protocol.Validation, o.Seed)
	l.rows[Test] = upTo(set.Test.Count())
	if o.Protocol.Validation > 0 && len(l.rows[Validation]) == 0 {
		return nil, o.Refuse("validation", "leaves none of %s's rows to validate on: want 0", set.Name)
	}
	return l, nil
}

func (l *labelled) Shape() Shape {
	return Shape{Steps: 1, Inputs: l.set.Features, Outputs: len(l.set.Names), Loss: "sigmoid"}
}

func (l *labelled) Digest() string { return l.set.Digest }

func (l *labelled) Facts() map[string]float64 {
	return map[string]float64{
		"train_size": float64(l.set.Train.Count()), "test_size": float64(l.set.Test.Count()),
		"length": float64(l.set.Features), "labels": float64(len(l.set.Names)), "depth": 1,
		"input_size": float64(l.set.Features),
	}
}

func (l *labelled) Notes() []string { return nil }

func (l *labelled) Memory() int64 { return l.set.Size() }

func (l *labelled) Open(part Part, wanted int) (Stream, error) {
	s := &labelledStream{from: &l.set.Train, minibatches: l.minibatches(part, wanted)}
	if part == Test {
		s.from = &l.set.Test
	}
	return s, nil
}

// labelledStream is the stream of a part of labelled rows.
type labelledStream struct {
	minibatches
	from *dataset.LabelledRows
}

func (s *labelledStream) Next(b *Batch[float32]) bool {
	rows := s.next()
	if len(rows) == 0 {
		return false
	}
	b.Reset(1, len(rows), false)
	clear(b.X.Data)
	clear(b.Targets.Values.Data)
	for i, row := range rows {
		columns, values := s.from.Features(row)
		x := b.X.Row(i)
		for j, column := range columns {
			x[column] = values[j]
		}
		y := b.Targets.Values.Row(i)
		for _, label := range s.from.Labels(row) {
			y[label] = 1
		}
	}
	return true
}
