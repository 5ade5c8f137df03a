package model

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"sweep/model/kernel"
	"sweep/model/task"
	"sweep/sweep"
	"sweep/sweep/safetensors"
)

// WeightsArtifact is the artifact that the trainer can hand over: the snapshot
// that the epoch rule kept, which is what was tested. A trial that diverged before
// it had one has none.
//
// It is a safetensors file of single precision. Its metadata, as those of the other
// artifact, are the parameters as canonical JSON, the epoch, and what the bits depend
// on besides: data set digest, result version, kernel level.
const WeightsArtifact = "weights"

// ProbabilitiesArtifact is what the kept snapshot makes of the validation and test
// parts of a classification: a safetensors file with the tensors "validation" and
// "test" [rows × classes] of class probabilities in half precision, and
// "validation_labels" and "test_labels" [rows × 1]; after a refit there are those of the
// test part alone. A table takes the mean over several trials from them.
const ProbabilitiesArtifact = "probabilities"

// handOver hands the artifacts over that the request names, when result has put
// the kept snapshot into the network.
func (t *training) handOver(ctx context.Context, request sweep.TrainRequest, sink sweep.Sink) error {
	if t.best.Epoch == 0 {
		return nil
	}
	for _, a := range []struct {
		name    string
		tensors func(ctx context.Context) ([]safetensors.Tensor, error)
	}{{WeightsArtifact, t.weights}, {ProbabilitiesArtifact, t.probabilities}} {
		if !slices.Contains(request.Artifacts, a.name) {
			continue
		}
		tensors, err := a.tensors(ctx)
		if err == nil && tensors != nil {
			err = t.hand(request, sink, a.name, tensors)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return nil
}

// hand hands tensors over as an artifact.
func (t *training) hand(request sweep.TrainRequest, sink sweep.Sink, name string, tensors []safetensors.Tensor) error {
	parameters, err := request.Parameters.Canonical()
	if err != nil {
		return err
	}
	file := safetensors.File{Tensors: tensors, Metadata: map[string]string{
		"trainer": Name, "result_version": resultVersion, "kernel_level": t.net.set.Level().String(), "epoch": strconv.Itoa(t.best.Epoch),
		"dataset_digest": t.task.Digest(), "parameters": string(parameters),
	}}
	data, err := file.Encode()
	if err != nil {
		return err
	}
	return sink.Artifact(sweep.Artifact{Name: name, MediaType: safetensors.MediaType}, bytes.NewReader(data))
}

// weights returns the network's present weights.
func (t *training) weights(context.Context) (tensors []safetensors.Tensor, err error) {
	for _, v := range t.net.arena.Views() {
		tensors = append(tensors, safetensors.Tensor{Name: v.Name, DType: safetensors.F32, Rows: v.Rows, Cols: v.Cols, Data: sweep.EncodeValues(v.Value)})
	}
	return tensors, nil
}

// probabilities returns what the network's present weights make of validation and
// test; nothing of a task whose sequences have no class each, or too many classes.
func (t *training) probabilities(ctx context.Context) (tensors []safetensors.Tensor, err error) {
	if !t.shape.Classes || t.shape.Every || t.shape.Outputs >= wideOutputs {
		return nil, nil
	}
	for _, part := range []struct {
		name string
		part task.Part
	}{{"validation", task.Validation}, {"test", task.Test}} {
		if part.part == task.Validation && t.plan.Refit > 0 {
			continue // trained on
		}
		var data, labels []byte
		rows, classes := 0, 0
		var row []float32
		stream := t.streams[part.part]
		for stream.Seek(0); stream.Next(t.batch); {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			t.net.classify(t.batch, func(outputs kernel.Matrix[float32], targets []int) {
				for i := range outputs.Rows {
					row = t.net.slices.loss.Probabilities(row[:0], outputs.Row(i))
					data = safetensors.AppendHalf(data, row)
				}
				labels = safetensors.AppendIntegers(labels, targets)
				rows, classes = rows+len(targets), len(row)
			})
		}
		tensors = append(tensors,
			safetensors.Tensor{Name: part.name, DType: safetensors.F16, Rows: rows, Cols: classes, Data: data},
			safetensors.Tensor{Name: part.name + "_labels", DType: safetensors.I32, Rows: rows, Cols: 1, Data: labels})
	}
	return tensors, nil
}
