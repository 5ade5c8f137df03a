package model

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/network"
	"sweep/model/task"
	"sweep/sweep/safetensors"
)

// readingKey is the key, in an artifact's metadata, of a classification's [task.Reading] as JSON.
const readingKey = "reading"

// Predictor classifies series by the weights of a trial. It needs no data but these series.
type Predictor struct {
	trainer  *Trainer
	settings *settings
	file     *safetensors.File
	reading  task.Reading
}

// LoadPredictor reads a [WeightsArtifact] of the task classification.
func (t *Trainer) LoadPredictor(artifact []byte) (*Predictor, error) {
	file, parameters, err := decodeWeights(artifact)
	if err != nil {
		return nil, err
	}
	p := &Predictor{trainer: t, file: file}
	if p.settings, err = settingsOf(parameters); err != nil {
		return nil, err
	}
	if of := p.settings.parameters["task"]; of != task.All[0].Name {
		return nil, fmt.Errorf("the weights are of the task %v: prediction needs a trial of the task %s", of,
			task.All[0].Name)
	}
	text, ok := file.Metadata[readingKey]
	if !ok {
		return nil, fmt.Errorf("%s: the metadata lack %s", WeightsArtifact, readingKey)
	}
	if err = json.Unmarshal([]byte(text), &p.reading); err == nil {
		err = p.reading.Check()
	}
	if err == nil && p.reading.Outputs >= network.WideOutputs {
		err = fmt.Errorf("%d classes, more than prediction knows", p.reading.Outputs)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", WeightsArtifact, readingKey, err)
	}
	return p, nil
}

// Labels are those of the classes.
func (p *Predictor) Labels() []string { return p.reading.Labels }

// Label returns the label of a class, "" beyond them.
func (p *Predictor) Label(class int) string {
	if class >= len(p.reading.Labels) {
		return ""
	}
	return p.reading.Labels[class]
}

// Prediction is what a network makes of a series.
type Prediction struct {
	Class         int       // beyond the labels if the largest output stands for none
	Probabilities []float32 // of each class
}

// Predict returns a prediction for each series.
func (p *Predictor) Predict(ctx context.Context, s *dataset.Series) (all []Prediction, err error) {
	feedForward := p.settings.network.System.FeedForward
	shape, stream, err := p.reading.Open(s, feedForward, evaluationBatch)
	if err != nil {
		return nil, err
	}
	room := network.Room{Batch: evaluationBatch, History: p.trainer.history,
		Threads: min(runtime.GOMAXPROCS(0), maxThreads)}
	net, err := network.Load(p.trainer.kernels, p.settings.spec(shape), room, p.file)
	if err != nil {
		return nil, err
	}
	defer net.Close()
	batch := task.NewBatch[float32](shape, evaluationBatch, net.Rows())
	for stream.Next(batch) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		net.Classify(batch, func(outputs kernel.Matrix[float32], _ []int) {
			for i := range outputs.Rows {
				of := net.Loss.Probabilities(nil, outputs.Row(i))
				all = append(all, Prediction{predicted(outputs.Row(i), of), of[:len(p.reading.Labels)]})
			}
		})
	}
	return all, nil
}

// Confusion counts the predictions of series that have labels; nil where none has.
func (p *Predictor) Confusion(s *dataset.Series, predictions []Prediction) (*Confusion, error) {
	c := NewConfusion(p.reading.Labels)
	labelled := false
	for i, label := range s.Labels {
		if label == "" {
			continue
		}
		class := dataset.ClassOf(p.reading.Labels, label)
		if class < 0 {
			return nil, &dataset.FileError{Path: s.Path, Row: s.Rows[i], Kind: dataset.ErrLabel,
				Detail: fmt.Sprintf("label %q is none of the model's: %q", label, p.reading.Labels)}
		}
		c.Add(class, predictions[i].Class)
		labelled = true
	}
	if !labelled {
		return nil, nil
	}
	return c, nil
}
