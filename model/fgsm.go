package model

import (
	"context"

	"sweep/model/loss"
	"sweep/model/task"
)

// attack returns the score of the test part by the present weights, each row moved by what the parameter fgsm says in
// the direction in which its loss grows.
func (t *training) attack(ctx context.Context) (score loss.Score, err error) {
	stream := t.streams[task.Test]
	for stream.Seek(0); stream.Next(t.batch); {
		if err := ctx.Err(); err != nil {
			return score, err
		}
		t.net.Perturb(t.batch, float32(t.s.fgsm))
		score.Add(t.net.Evaluate(t.batch))
	}
	return score, nil
}
