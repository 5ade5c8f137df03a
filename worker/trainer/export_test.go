package trainer

import (
	"encoding/json"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// For tests outside the package.
var (
	DecodeDescription = decodeDescription
	EncodeDescription = json.Marshal
)

// TakeArtifact takes an artifact from a trainer whose temporary directory is
// scratch.
func TakeArtifact(scratch string, m *trainerpb.Artifact, sink sweep.Sink) error {
	r := receiver{scratch: scratch, sink: sink}
	return r.artifact(m)
}
