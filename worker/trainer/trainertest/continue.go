package trainertest

import (
	"testing"

	"sweep/sweep"
)

// testContinue: a trial that can be trained longer gives the same result from the checkpoint of a shorter
// one as from its beginning.
func testContinue(t *testing.T, s *suite) {
	if s.Continued == nil {
		return
	}
	resolved := s.resolve(t, s.Continued)
	schema, budget := s.description.Budget(resolved)
	lineage, _ := s.description.Lineage(resolved, "")
	if schema == nil || lineage == "" || budget < 2 {
		t.Fatalf("%v cannot be continued, or not from a trial half as long", s.Continued)
	}
	long := s.request(t, resolved)
	want, sink := s.train(t, s.trainer, long)
	digest := sink.Digest(want, s.description.Volatile())
	resolved = resolved.Clone()
	resolved[schema.Name] = budget / 2
	short := s.request(t, resolved)
	short.Artifacts = []string{sweep.CheckpointArtifact}
	_, sink = s.train(t, s.trainer, short)
	kept := sink.Artifacts()[sweep.CheckpointArtifact].Content
	if len(kept) == 0 {
		t.Fatal("the shorter trial hands over no checkpoint")
	}
	long.Checkpoint = kept
	got, sink := s.train(t, s.open(t), long)
	if sink.Digest(got, s.description.Volatile()) != digest {
		t.Errorf("continued from a trial half as long, the trial differs:\n%+v\n%+v", want, got)
	}
	long.Checkpoint = kept[:len(kept)/2]
	if _, err := s.trainer.Train(t.Context(), long, &Sink{}); err == nil {
		t.Error("Train continues from half a checkpoint")
	}
}
