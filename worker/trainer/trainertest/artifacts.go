package trainertest

import (
	"slices"
	"testing"

	"sweep/sweep"
)

// testArtifacts: a trainer hands over what it says it can when that is asked for,
// the same bytes each time, and nothing else.
func testArtifacts(t *testing.T, s *suite) {
	if len(s.description.Artifacts) == 0 {
		return
	}
	request := s.request(t, s.resolve(t, s.Parameters))
	var names []string
	for _, a := range s.description.Artifacts {
		if err := sweep.CheckArtifactName(a.Name); err != nil || a.Doc == "" || slices.Contains(names, a.Name) {
			t.Errorf("artifact %+v: %v", a, err)
		}
		if a.Name != sweep.CheckpointArtifact { // see testContinue
			names = append(names, a.Name)
		}
	}
	plain, _ := s.train(t, s.trainer, request)
	request.Artifacts = names
	var first map[string]Artifact
	for range 2 {
		result, sink := s.train(t, s.trainer, request)
		if got, want := result.WeightsDigest, plain.WeightsDigest; got != want {
			t.Errorf("to hand artifacts over changes the weights: %s, %s", got, want)
		}
		all := sink.Artifacts()
		for _, name := range names {
			if a, ok := all[name]; !ok || len(a.Content) == 0 {
				t.Errorf("artifact %q was not handed over", name)
			}
		}
		if first == nil {
			first = all
		}
		for name, a := range all {
			if !slices.Contains(names, name) {
				t.Errorf("artifact %q is not described", name)
			}
			if !slices.Equal(a.Content, first[name].Content) {
				t.Errorf("artifact %q differs from one time to the other", name)
			}
			for _, described := range s.description.Artifacts {
				if described.Name == name && a.MediaType != described.MediaType {
					t.Errorf("artifact %q: media type %q, described as %q", name, a.MediaType, described.MediaType)
				}
			}
		}
	}
}
