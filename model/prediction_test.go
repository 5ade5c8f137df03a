package model

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sweep/model/dataset"
	"sweep/model/random"
	"sweep/model/task"
	"sweep/sweep"
	"sweep/sweep/safetensors"
)

// weighed trains a trial and returns its result and weights.
func weighed(t *testing.T, dir string, point sweep.Parameters) (*sweep.Result, []byte) {
	t.Helper()
	sink := newCollector()
	result, err := newTrainer(t).Train(t.Context(), sweep.TrainRequest{
		Trial: sweep.Trial{Parameters: resolve(t, point)}, DataDir: dir, Artifacts: []string{WeightsArtifact}}, sink)
	if err != nil {
		t.Fatal(err)
	}
	return result, sink.artifact
}

// testSeries are the test part of a set as its files have it.
func testSeries(t *testing.T, name string) *dataset.Series {
	t.Helper()
	set, err := dataset.Open("", dataset.Reference{Name: name, Limit: 300})
	if err != nil {
		t.Fatal(err)
	}
	s := &dataset.Series{Path: "F", Width: max(set.Channels, 1)}
	for i := range set.Test.N {
		var values []float32
		if set.Test.Bytes != nil {
			for _, b := range set.Test.Bytes[i*set.Length:][:set.Length] {
				values = append(values, float32(b)/255)
			}
		} else {
			values = slices.Clone(set.Test.Values[i*set.Length:][:set.Length])
		}
		s.Values, s.Labels = append(s.Values, values), append(s.Labels, set.Labels[set.Test.Labels[i]])
		s.Rows = append(s.Rows, i+1)
	}
	return s
}

// The weights alone, without the data set, give the test part the metrics that the trial recorded: accuracy, and the loss from
// the probabilities.
func TestPredictionIsTheTrialsOwn(t *testing.T) {
	t.Parallel()
	root := ownSet(t, "series,x,y,label", 40, 30, func(class int, source *random.Source) (rows []string) {
		for i := range 3 + source.Below(20) {
			row := fmt.Sprintf("%.3f,%.3f", float64(2*class-1)*float64(i)/10+source.Normal(), 50+source.Normal())
			if source.Below(4) == 0 {
				row = row[strings.Index(row, ","):]
			}
			rows = append(rows, row)
		}
		return rows
	})
	for _, p := range []sweep.Parameters{
		{"dataset": "generated-cbf", "model": "spectral-rnn"},
		{"dataset": "generated-cbf", "model": "lstm", "normalize": "channel", "order": "strided", "layers": int64(2)},
		{"dataset": "generated-cbf", "model": "resnet", "loss": "mse"},
		{"dataset": "generated-har-2", "model": "sgornn", "normalize": "channel"},
		{"dataset": "generated-mnist", "model": "urnn", "normalize": "channel", "input_size": int64(28), "limit": int64(300)},
		{"dataset": "own/waves", "model": "gru"},
		{"dataset": "own/waves", "model": "vprnn", "normalize": "channel", "missing": "mean", "order": "reversed"},
		{"dataset": "own/waves", "model": "sgornn", "missing": "indicators", "input_size": int64(8), "dropout": 0.1},
		{"dataset": "own/waves", "model": "mlp", "missing": "indicators", "normalize": "channel"},
	} {
		p["epochs"], p["hidden"], p["lr"] = int64(3), int64(16), 0.01
		result, weights := weighed(t, root, p)
		predictor, err := newTrainer(t).LoadPredictor(weights)
		if err != nil {
			t.Errorf("%v: %v", p, err)
			continue
		}
		var s *dataset.Series
		if name := p["dataset"].(string); dataset.IsOwn(name) {
			s, err = dataset.ReadSeries(filepath.Join(root, "own", "waves", "test.csv"))
			if err != nil {
				t.Fatal(err)
			}
		} else {
			s = testSeries(t, name)
		}
		predictions, err := predictor.Predict(t.Context(), s)
		if err != nil {
			t.Errorf("%v: %v", p, err)
			continue
		}
		confusion, err := predictor.Confusion(s, predictions)
		if err != nil {
			t.Fatal(err)
		}
		if want := result.Summary["test_accuracy"]; confusion.Accuracy() != want || want == 0 {
			t.Errorf("%v: accuracy %v, in the trial %v", p, confusion.Accuracy(), want)
		}
		if p["loss"] != nil || p["dataset"] == "generated-har-2" {
			continue
		}
		sum := 0.0
		for i, one := range predictions {
			sum -= math.Log(float64(one.Probabilities[slices.Index(predictor.Labels(), s.Labels[i])]))
		}
		if loss, want := sum/float64(len(predictions)), result.Summary["test_loss"]; math.Abs(loss-want) > 1e-5*want {
			t.Errorf("%v: loss %v, in the trial %v", p, loss, want)
		}
	}
}

// Weights do not depend on what drew their fixed permutations: with another seed they are the same network, and without
// the permutations, or those of another size, none.
func TestPermutationsAreStored(t *testing.T) {
	t.Parallel()
	for model, name := range map[string]string{"vprnn": "turns", "sgornn": "turns", "urnn": "order"} {
		_, weights := weighed(t, "", sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(1), "model": model,
			"hidden": int64(16), "layers": int64(2)})
		said := func(change func(file *safetensors.File)) ([]Prediction, error) {
			file, err := safetensors.Decode(slices.Clone(weights))
			if err != nil {
				t.Fatal(err)
			}
			change(file)
			data, err := file.Encode()
			if err != nil {
				t.Fatal(err)
			}
			predictor, err := newTrainer(t).LoadPredictor(data)
			if err != nil {
				return nil, err
			}
			return predictor.Predict(t.Context(), testSeries(t, "generated-cbf"))
		}
		want, err := said(func(*safetensors.File) {})
		if err != nil {
			t.Fatal(err)
		}
		got, err := said(func(file *safetensors.File) {
			text := file.Metadata["parameters"]
			file.Metadata["parameters"] = strings.Replace(text, `"seed":1`, `"seed":77`, 1)
			if file.Metadata["parameters"] == text {
				t.Fatalf("no seed in %s", text)
			}
		})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: with another seed the predictions differ, %v", model, err)
		}
		at := func(file *safetensors.File) *safetensors.Tensor {
			for i := range file.Tensors {
				if strings.HasSuffix(file.Tensors[i].Name, name) {
					return &file.Tensors[i]
				}
			}
			t.Fatalf("%s: no tensor %s", model, name)
			return nil
		}
		if _, err := said(func(file *safetensors.File) { at(file).Name = "x" }); err == nil ||
			!strings.Contains(err.Error(), " permutations ") {
			t.Errorf("%s without permutations: %v", model, err)
		}
		if _, err := said(func(file *safetensors.File) { at(file).Data[0] ^= 1 }); err == nil ||
			!strings.Contains(err.Error(), "holds no permutations") {
			t.Errorf("%s: %v", model, err)
		}
		if got, err := said(func(file *safetensors.File) { // another permutation is another network
			one := at(file)
			for i := range 4 {
				one.Data[i], one.Data[4+i] = one.Data[4+i], one.Data[i]
			}
		}); err != nil || reflect.DeepEqual(got, want) {
			t.Errorf("%s: the permutations are not read, %v", model, err)
		}
		for format, problem := range map[string]string{"": "run the trial again", "9": "upgrade it"} {
			if _, err := said(func(file *safetensors.File) {
				if file.Metadata["format"] = format; format == "" {
					delete(file.Metadata, "format")
				}
			}); err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("format %q: %v", format, err)
			}
		}
	}
}

// What does not fit the trial is refused with its row, and weights without the reading with what to do.
func TestPredictionsThatAreRefused(t *testing.T) {
	t.Parallel()
	one := func(values, width int, label string) *dataset.Series {
		return &dataset.Series{Path: "F", Width: width, Values: [][]float32{make([]float32, values)}, Labels: []string{label},
			Rows: []int{2}}
	}
	_, recurrent := weighed(t, "", sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(1)})
	_, whole := weighed(t, "", sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(1), "model": "mlp"})
	_, other := weighed(t, "", sweep.Parameters{"dataset": "copy", "steps": int64(2), "held": int64(10), "length": int64(5)})
	for _, c := range []struct {
		weights []byte
		series  *dataset.Series
		want    string
	}{
		{recurrent, one(128, 2, ""), "F:2: unsupported form: 2 channels, and the model reads 1"},
		{recurrent, one(50, 1, "1"), ""},
		{recurrent, one(128, 1, "9"), `F:2: bad label: label "9" is none of the model's: ["1" "2" "3"]`},
		{whole, one(127, 1, ""), "F:2: unsupported form: 127 values, and the model reads 128"},
		{other, nil, "the weights are of the task copy"},
	} {
		predictor, err := newTrainer(t).LoadPredictor(c.weights)
		var predictions []Prediction
		if err == nil {
			predictions, err = predictor.Predict(t.Context(), c.series)
		}
		if err == nil {
			_, err = predictor.Confusion(c.series, predictions)
		}
		if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for text, want := range map[string]string{
		"":   "weights: the metadata lack reading",
		"{}": "weights: reading: 0 labels for 0 outputs",
		`{"labels": ["a", "b"], "outputs": 2, "inputs": 3, "length": 2}`: "steps of 3 inputs",
		`{"labels": ["a", "b"], "outputs": 2, "inputs": 1, "length": 2}`: "no means and deviations",
		`{"labels": ["a", "b"], "outputs": 2, "inputs": 1, "length": 2, "order": "pieces", "permutation": [1, 1],
			"preparation": {"means": [0], "deviations": [1]}}`: "the permutation of the values is none",
	} {
		file, err := safetensors.Decode(recurrent)
		if err != nil {
			t.Fatal(err)
		}
		file.Metadata[readingKey] = text
		if text == "" {
			delete(file.Metadata, readingKey)
		}
		data, err := file.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newTrainer(t).LoadPredictor(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Values in a fixed order are put in it before they are read.
func TestPermutedReading(t *testing.T) {
	r := task.Reading{Labels: []string{"a", "b"}, Outputs: 2, Loss: "cross_entropy", Inputs: 1, Length: 3,
		Order: dataset.OrderPieces, Permutation: []int{2, 0, 1}, Preparation: &dataset.Preparation{Means: []float64{0},
			Deviations: []float64{1}}}
	shape, stream, err := r.Open(&dataset.Series{Path: "F", Width: 1, Values: [][]float32{{10, 20, 30}}, Labels: []string{""},
		Rows: []int{1}}, false, 4)
	if err != nil {
		t.Fatal(err)
	}
	b := task.NewBatch[float32](shape, 4, 4)
	if !stream.Next(b) || !slices.Equal(b.X.Data, []float32{30, 10, 20}) {
		t.Errorf("%v", b.X.Data)
	}
}

// By the definitions of van Rijsbergen (1979), with what a class without series, and one that nothing is given, count as.
func TestConfusion(t *testing.T) {
	c := NewConfusion([]string{"a", "b", "c"})
	for _, pair := range [][2]int{{0, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 0}, {0, 0}} {
		c.Add(pair[0], pair[1])
	}
	f1 := func(p, r float64) float64 { return 2 / (1/p + 1/r) }
	for class, want := range [][3]float64{{3. / 4, 3. / 4, f1(.75, .75)}, {.5, .5, .5}, {0, 0, 0}} {
		got := [3]float64{c.Precision(class), c.Recall(class), c.F1(class)}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-15 {
				t.Errorf("class %d: %v, want %v", class, got, want)
			}
		}
	}
	if c.Accuracy() != 4./6 || math.Abs(c.MacroF1()-(.75+.5)/3) > 1e-15 || c.Support(2) != 0 {
		t.Errorf("accuracy %v, macro F1 %v", c.Accuracy(), c.MacroF1())
	}
}

// The confusion matrix of a trial is that of predictions by its weights; its macro F1 is a metric, if it is asked for.
func TestConfusionArtifact(t *testing.T) {
	t.Parallel()
	p := sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(2), "hidden": int64(8), "model": "gru"}
	plain, weights := weighed(t, "", p)
	predictor, err := newTrainer(t).LoadPredictor(weights)
	if err != nil {
		t.Fatal(err)
	}
	s := testSeries(t, "generated-cbf")
	predictions, err := predictor.Predict(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	want, err := predictor.Confusion(s, predictions)
	if err != nil {
		t.Fatal(err)
	}
	p["class_metrics"] = true
	sink := newCollector()
	result, err := newTrainer(t).Train(t.Context(), sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, p)},
		Artifacts: []string{ConfusionArtifact}}, sink)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Accuracy float64
		F1Macro  float64 `json:"f1_macro"`
		Classes  []struct {
			Label  string
			Series int
			F1     float64
		}
		Counts     [][]int
		Unassigned []int
	}
	if err := json.Unmarshal(sink.artifact, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Counts, want.Counts) || !slices.Equal(got.Unassigned, want.Unassigned) || got.Accuracy != result.Summary["test_accuracy"] ||
		got.F1Macro != want.MacroF1() || result.Summary["test_f1_macro"] != want.MacroF1() || len(got.Classes) != 3 ||
		got.Classes[2].Label != "3" || got.Classes[2].Series != 300 || got.Classes[2].F1 != want.F1(2) {
		t.Errorf("%+v, %v\nwant %+v", got, result.Summary, want)
	}
	if _, has := plain.Summary["test_f1_macro"]; has || plain.WeightsDigest != result.WeightsDigest {
		t.Errorf("without class_metrics: %v", plain.Summary)
	}
}
