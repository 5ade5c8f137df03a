package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"sweep/model/kernel"
	"sweep/model/network"
	"sweep/model/task"
	"sweep/sweep"
	"sweep/sweep/safetensors"
)

// WeightsArtifact is the artifact that the trainer can hand over: the snapshot
// that the epoch rule selected, which is what was tested. A trial that diverged before
// it had one has none.
//
// It is a safetensors file of single precision, in which tensors of integers are permutations that
// are part of the network and not trained: "turns" of vprnn and sgornn, "order" of urnn. Its metadata,
// as those of the other artifact, are the parameters as canonical JSON, the epoch, and what the bits depend
// on besides: data set digest, result version, kernel level; for the task queries the
// characters that have codes of their own, which completion needs; and for a classification
// its [task.Reading], which prediction needs.
const WeightsArtifact = "weights"

// weightsFormat is the version of what an artifact holds. Version 2 added it, the fixed permutations and
// the reading of classifications, without which weights could be used only with the data set and by the
// program that had drawn them.
const weightsFormat = "2"

// ProbabilitiesArtifact is what the kept weights make of the validation and test
// parts of a classification: a safetensors file with the tensors "validation" and
// "test" [rows × classes] of class probabilities in half precision, and
// "validation_labels" and "test_labels" [rows × 1]. After a refit, which trains on the
// validation part, that part's are those of the weights before it began; a trial that
// holds none out has none. A table takes the mean over several trials from them.
const ProbabilitiesArtifact = "probabilities"

// ConfusionArtifact is a [Confusion] of the test part by the kept weights, as JSON.
const ConfusionArtifact = "confusion"

// Load makes the network of a [WeightsArtifact], for minibatches of so many sequences, and opens
// the task that it was trained for. The network has to be closed.
func (t *Trainer) Load(artifact []byte, dataDir string, batch int) (*network.Network[float32], task.Task, error) {
	net, work, _, err := t.load(artifact, dataDir, batch)
	return net, work, err
}

// load is Load, and returns the settings besides. A batch of 0 is the largest of the trial.
func (t *Trainer) load(artifact []byte, dataDir string, batch int) (*network.Network[float32], task.Task, *settings,
	error) {
	file, parameters, err := decodeWeights(artifact)
	if err != nil {
		return nil, nil, nil, err
	}
	s, work, err := t.open(parameters, dataDir)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := checkDigest(work, s, file.Metadata["dataset_digest"]); err != nil {
		return nil, nil, nil, err
	}
	if batch == 0 {
		batch = s.room(work)
	}
	room := network.Room{Batch: batch, History: t.history, Threads: t.threads}
	net, err := network.Load(t.kernels, s.spec(work.Shape()), room, file)
	return net, work, s, err
}

// decodeWeights reads an artifact, and the parameters in it.
func decodeWeights(artifact []byte) (file *safetensors.File, parameters sweep.Parameters, err error) {
	if file, err = safetensors.Decode(artifact); err != nil {
		return nil, nil, err
	}
	switch format := file.Metadata["format"]; format {
	case weightsFormat:
	case "":
		return nil, nil, fmt.Errorf("%s: stored by an earlier version, without fixed permutations, labels and scales: "+
			"run the trial again, with --reuse=false", WeightsArtifact)
	default:
		return nil, nil, fmt.Errorf("%s: of format %s, and this program reads %s: upgrade it", WeightsArtifact, format,
			weightsFormat)
	}
	if err := parameters.UnmarshalJSON([]byte(file.Metadata["parameters"])); err != nil {
		return nil, nil, fmt.Errorf("%s: parameters: %w", WeightsArtifact, err)
	}
	return file, parameters, nil
}

// handOver hands over the artifacts that the request names, when result has put
// the kept weights into the network.
func (t *training) handOver(ctx context.Context, sink sweep.Sink) error {
	if t.kept != nil && !t.diverged {
		if err := sink.Artifact(sweep.Artifact{Name: sweep.CheckpointArtifact}, bytes.NewReader(t.kept)); err != nil {
			return fmt.Errorf("%s: %w", sweep.CheckpointArtifact, err)
		}
	}
	if t.best.Epoch == 0 {
		return nil
	}
	for _, a := range []struct {
		name    string
		tensors func(ctx context.Context) ([]safetensors.Tensor, error)
	}{{WeightsArtifact, t.weights}, {ProbabilitiesArtifact, t.probabilities}} {
		if !slices.Contains(t.request.Artifacts, a.name) {
			continue
		}
		tensors, err := a.tensors(ctx)
		if err == nil && tensors != nil {
			err = t.hand(sink, a.name, tensors)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	if !slices.Contains(t.request.Artifacts, ConfusionArtifact) || !t.votes() {
		return nil
	}
	c, err := t.confusion(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", ConfusionArtifact, err)
	}
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("%s: %w", ConfusionArtifact, err)
	}
	return sink.Artifact(sweep.Artifact{Name: ConfusionArtifact, MediaType: "application/json"}, bytes.NewReader(data))
}

// hand hands tensors over as an artifact.
func (t *training) hand(sink sweep.Sink, name string, tensors []safetensors.Tensor) error {
	parameters, err := t.request.Parameters.Canonical()
	if err != nil {
		return err
	}
	file := safetensors.File{Tensors: tensors, Metadata: map[string]string{
		"format": weightsFormat, "trainer": Name, "result_version": resultVersion,
		"kernel_level":   t.net.Level().String(),
		"epoch":          strconv.Itoa(t.best.Epoch),
		"dataset_digest": t.task.Digest(), "parameters": string(parameters),
	}}
	if characters, ok := t.task.(interface{ Alphabet() []rune }); ok {
		file.Metadata[alphabetKey] = string(characters.Alphabet())
	}
	if classified, ok := t.task.(interface{ Reading() *task.Reading }); ok {
		reading, err := json.Marshal(classified.Reading())
		if err != nil {
			return err
		}
		file.Metadata[readingKey] = string(reading)
	}
	data, err := file.Encode()
	if err != nil {
		return err
	}
	return sink.Artifact(sweep.Artifact{Name: name, MediaType: safetensors.MediaType}, bytes.NewReader(data))
}

// weights returns the network's present weights, and its fixed permutations.
func (t *training) weights(context.Context) (tensors []safetensors.Tensor, err error) {
	for _, v := range t.net.Arena.Views() {
		tensors = append(tensors, safetensors.Tensor{Name: v.Name, DType: safetensors.F32, Rows: v.Rows, Cols: v.Cols,
			Data: sweep.EncodeValues(v.Value)})
	}
	for _, f := range t.net.Arena.Fixed() {
		tensors = append(tensors, safetensors.Tensor{Name: f.Name, DType: safetensors.I32, Rows: len(f.Values) / f.Size,
			Cols: f.Size, Data: safetensors.AppendIntegers(nil, f.Values)})
	}
	return tensors, nil
}

// probabilities returns what the network's present weights make of the test part, and
// what they or, after a refit, those before it make of validation; nothing of a task
// whose sequences have no class each, or too many classes.
func (t *training) probabilities(ctx context.Context) (tensors []safetensors.Tensor, err error) {
	if !t.votes() {
		return nil, nil
	}
	tensors = t.validated
	if t.holdsOut() && t.plan.Refit == 0 {
		if tensors, err = t.classify(ctx, "validation", task.Validation); err != nil {
			return nil, err
		}
	}
	test, err := t.classify(ctx, "test", task.Test)
	return slices.Concat(tensors, test), err
}

// votes says whether the task's sequences have a class each, of not too many.
func (t *training) votes() bool {
	return t.shape.Classes && (!t.shape.Every || t.shape.Single) && t.shape.Outputs < network.WideOutputs
}

// keepValidated keeps what the last weights before a refit make of the validation part:
// later ones have trained on it.
func (t *training) keepValidated(ctx context.Context) (err error) {
	last := t.validates() && t.plan.Refits(t.position()+t.plan.Interval)
	if last && t.votes() && slices.Contains(t.request.Artifacts, ProbabilitiesArtifact) {
		t.validated, err = t.classify(ctx, "validation", task.Validation)
	}
	return err
}

// classify returns what the network's present weights make of a part: its class
// probabilities, and its labels.
func (t *training) classify(ctx context.Context, name string, part task.Part) ([]safetensors.Tensor, error) {
	var data, labels []byte
	rows, classes := 0, 0
	var row []float32
	stream := t.streams[part]
	for stream.Seek(0); stream.Next(t.batch); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t.net.Classify(t.batch, func(outputs kernel.Matrix[float32], targets []int) {
			for i := range outputs.Rows {
				row = t.net.Loss.Probabilities(row[:0], outputs.Row(i))
				data = safetensors.AppendHalf(data, row)
			}
			labels = safetensors.AppendIntegers(labels, targets)
			rows, classes = rows+len(targets), len(row)
		})
	}
	return []safetensors.Tensor{
		{Name: name, DType: safetensors.F16, Rows: rows, Cols: classes, Data: data},
		{Name: name + "_labels", DType: safetensors.I32, Rows: rows, Cols: 1, Data: labels},
	}, nil
}
