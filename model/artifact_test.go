package model

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/loss"
	"sweep/model/task"
	"sweep/sweep"
	"sweep/sweep/safetensors"
)

// readSafetensors reads a file as its format says, and nothing of this package.
func readSafetensors(t *testing.T, file []byte) (values map[string][]float32, metadata map[string]string) {
	t.Helper()
	n := binary.LittleEndian.Uint64(file)
	header, data := file[8:8+n], file[8+n:]
	if n%8 != 0 || header[0] != '{' {
		t.Errorf("a header of %d bytes that begins with %q", n, header[0])
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(header, &entries); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(entries["__metadata__"], &metadata); err != nil {
		t.Fatal(err)
	}
	delete(entries, "__metadata__")
	values = map[string][]float32{}
	covered := 0
	for name, entry := range entries {
		var e struct {
			DType   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets []int  `json:"data_offsets"`
		}
		if err := json.Unmarshal(entry, &e); err != nil {
			t.Fatal(err)
		}
		size := 4
		for _, d := range e.Shape {
			size *= d
		}
		if e.DType != "F32" || len(e.Offsets) != 2 || e.Offsets[1]-e.Offsets[0] != size {
			t.Fatalf("%s: %+v", name, e)
		}
		covered += size
		for at := e.Offsets[0]; at < e.Offsets[1]; at += 4 {
			values[name] = append(values[name], math.Float32frombits(binary.LittleEndian.Uint32(data[at:])))
		}
	}
	if covered != len(data) {
		t.Errorf("tensors of %d bytes in %d", covered, len(data))
	}
	return values, metadata
}

func TestWeightsArtifact(t *testing.T) {
	point := sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(3), "model": "spectral-rnn",
		"epoch_rule": "final"}
	train := func(artifacts ...string) (*sweep.Result, *collector) {
		t.Helper()
		sink := newCollector()
		result, err := newTrainer(t).Train(t.Context(),
			sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, point)}, Artifacts: artifacts}, sink)
		if err != nil {
			t.Fatal(err)
		}
		return result, sink
	}
	if _, sink := train("samples"); sink.artifact != nil {
		t.Error("weights that nobody asked for")
	}
	result, sink := train("weights")
	values, metadata := readSafetensors(t, sink.artifact)
	count := 0
	for name, tensor := range values {
		count += len(tensor)
		for _, v := range tensor {
			if math.IsNaN(float64(v)) {
				t.Errorf("%s has NaN", name)
			}
		}
	}
	if float64(count) != result.Summary[sweep.ParameterCountMetric] {
		t.Errorf("%d weights, want %v", count, result.Summary[sweep.ParameterCountMetric])
	}
	if metadata["epoch"] != "3" || metadata["trainer"] != Name || metadata["dataset_digest"] == "" ||
		metadata["kernel_level"] != result.KernelLevel {
		t.Errorf("%v", metadata)
	}
	var parameters sweep.Parameters
	if err := parameters.UnmarshalJSON([]byte(metadata["parameters"])); err != nil ||
		parameters["model"] != "spectral-rnn" {
		t.Errorf("%v, %v", parameters, err)
	}
	// A trial that keeps no epoch has nothing to hand over.
	point["lr"], point["clip"] = 1e30, int64(0)
	if result, sink := train("weights"); !result.Diverged || bestEpoch(result) != 0 || sink.artifact != nil {
		t.Errorf("%+v, %d bytes", result, len(sink.artifact))
	}
}

// The probabilities say what the summary says of validation and test.
func TestProbabilitiesArtifact(t *testing.T) {
	for name, point := range map[string]sweep.Parameters{
		"cross_entropy": {"dataset": "generated-cbf", "refit": int64(0), "epochs": int64(20), "model": "rnn"},
		"mse": {"dataset": "generated-cbf", "refit": int64(0), "epochs": int64(20), "model": "rnn",
			"loss": "mse"},
		"sigmoid": {"dataset": "generated-cbf", "refit": int64(0), "epochs": int64(20), "model": "rnn",
			"loss": "sigmoid", "lr": 0.01},
		"one output": {"dataset": "generated-har-2", "epochs": int64(8), "model": "rnn",
			"hidden": int64(16), "lr": 0.01},
		"network": {"dataset": "generated-cbf", "refit": int64(0), "epochs": int64(2), "model": "mlp"},
		"task":    {"dataset": "copy", "length": int64(3), "steps": int64(10), "model": "rnn"},
	} {
		sink := newCollector()
		request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, point)},
			Artifacts: []string{ProbabilitiesArtifact}}
		result, err := newTrainer(t).Train(t.Context(), request, sink)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "task" {
			if sink.artifact != nil {
				t.Errorf("%s: probabilities of what has no class", name)
			}
			continue
		}
		file, err := safetensors.Decode(sink.artifact)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if file.Metadata["trainer"] != Name || file.Metadata["dataset_digest"] == "" {
			t.Errorf("%s: %v", name, file.Metadata)
		}
		for _, part := range []string{"validation", "test"} {
			values, err := file.Tensor(part, safetensors.F16)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			labels, err := file.Tensor(part+"_labels", safetensors.I32)
			if err != nil || labels.Rows != values.Rows || values.Rows == 0 {
				t.Fatalf("%s: %d labels for %d rows, %v", name, labels.Rows, values.Rows, err)
			}
			if size := result.Summary["test_size"]; part == "test" && values.Rows != int(size) {
				t.Errorf("%s: %d test rows of %v", name, values.Rows, size)
			}
			correct, even := 0, 0 // even: where half precision does not tell
			all := values.Halves()
			for i, label := range labels.Integers() {
				row, best, sum := all[i*values.Cols:(i+1)*values.Cols], 0, 0.
				for j, p := range row {
					if sum += float64(p); p > row[best] {
						best = j
					}
				}
				if best == label {
					correct++
				}
				if slices.Contains(row[best+1:], row[best]) {
					even++
				}
				if (name == "cross_entropy" || name == "one output" || name == "network") && math.Abs(sum-1) > 2e-3 {
					t.Errorf("%s: %s row %d sums to %v", name, part, i, sum)
				}
			}
			if got, want := float64(correct)/float64(labels.Rows),
				result.Summary[part+"_accuracy"]; math.Abs(got-want) > (float64(even)+1e-3)/float64(labels.Rows) ||
				even > labels.Rows/5 {
				t.Errorf("%s: %s accuracy %v, the summary says %v; %d rows of %d undecided", name, part, got, want,
					even, labels.Rows)
			}
		}
	}
}

// A network loaded from an artifact scores what the trial did, and one step after the other it
// puts out what it puts out for all of them.
func TestLoad(t *testing.T) {
	const rows = 20
	for _, model := range []string{"lstm", "spectral-rnn"} {
		sink, trainer := newCollector(), newTrainer(t)
		request := sweep.TrainRequest{Artifacts: []string{WeightsArtifact},
			Trial: sweep.Trial{Parameters: resolve(t, sweep.Parameters{
				"dataset": "generated-text", "model": model, "hidden": int64(16), "layers": int64(2),
				"length": int64(30),
				"batch":  int64(rows), "epochs": int64(1),
			})}}
		result, err := trainer.Train(t.Context(), request, sink)
		if err != nil {
			t.Fatal(err)
		}
		net, work, err := trainer.Load(sink.artifact, "", rows)
		if err != nil {
			t.Fatal(err)
		}
		defer net.Close()
		stream, err := work.Open(task.Test, rows)
		if err != nil {
			t.Fatal(err)
		}
		var score loss.Score
		batch := task.NewBatch[float32](work.Shape(), rows, net.Rows())
		for stream.Next(batch) {
			score.Add(net.Evaluate(batch))
		}
		if got, want := score.Mean(), result.Summary["test_loss"]; got != want {
			t.Errorf("%s: loaded it has a test loss of %v, in the trial %v", model, got, want)
		}
		stream.Seek(0)
		stream.Next(batch)
		want, got, row := net.Evaluate(batch), 0.0, []float32(nil)
		var state layer.State[float32]
		for step := range batch.Steps {
			var outputs kernel.Matrix[float32]
			at := step * batch.Size
			outputs, state = net.Step(batch.Tokens[at:at+batch.Size], state)
			for i := range batch.Size {
				row = net.Loss.Probabilities(row[:0], outputs.Row(i))
				got -= math.Log(float64(row[batch.Targets.Classes[at+i]]))
			}
		}
		if math.Abs(got-want.Loss) > 1e-5*want.Loss {
			t.Errorf("%s: step by step its loss is %v, at once %v", model, got, want.Loss)
		}
		file, err := safetensors.Decode(sink.artifact)
		if err != nil {
			t.Fatal(err)
		}
		file.Metadata["dataset_digest"] = "another"
		other, err := file.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := trainer.Load(other, "", rows); !errors.Is(err, sweep.ErrDatasetChanged) {
			t.Errorf("%s: loaded for other data: %v", model, err)
		}
	}
}
