package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sweep/sweep"
)

// eventMessage is a message with events of one execution, or of several short ones.
type eventMessage struct {
	Version int `json:"version"`
	// Pool is the worker's.
	Pool   string        `json:"pool,omitempty"`
	Events []sweep.Event `json:"events"`
	// Samples holds the curves of all events, see samples.go.
	Samples []byte `json:"samples,omitempty"`
}

// encodeEvents encodes a message of events.
func encodeEvents(pool string, events []sweep.Event) ([]byte, error) {
	bare, samples := withoutSamples(events)
	return json.Marshal(eventMessage{Version, pool, bare, samples})
}

// decodeEvents decodes a message of events. It checks that the subject matches the content.
func decodeEvents(subject string, data []byte) (*eventMessage, error) {
	var m eventMessage
	err := json.Unmarshal(data, &m)
	if m.Version > Version {
		return nil, &newerError{"events", m.Version, Version}
	}
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	if m.Version < Version {
		return nil, fmt.Errorf("events of version %d: this program reads version %d", m.Version, Version)
	}
	if !strings.HasPrefix(subject, eventsPrefix+m.Pool+".") || m.Pool == "" {
		return nil, fmt.Errorf("events of pool %q under the subject %q", m.Pool, subject)
	}
	if err := addSamples(m.Events, m.Samples); err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	return &m, nil
}

// checkEvent returns the reason if an event cannot be stored.
func checkEvent(e *sweep.Event) error {
	complete := e.Execution != "" && CheckToken("sweep", e.Sweep) == nil && e.Index >= 0
	switch e.Kind {
	case sweep.EventStarted, sweep.EventPoints, sweep.EventCheckpoint:
	case sweep.EventResult:
		complete = complete && e.Result != nil && e.Result.State.Terminal()
	case sweep.EventReleased:
		complete = complete && e.Release != nil
	case sweep.EventRefused:
		complete = complete && e.Refusal != nil
	default:
		return fmt.Errorf("an event of the unknown kind %.40q", e.Kind)
	}
	if !complete {
		return fmt.Errorf("an event of kind %s lacks a part", e.Kind)
	}
	return clean(e)
}

// clean removes NUL characters from the texts of an event, because databases refuse them,
// and returns an error for names that no database accepts.
func clean(e *sweep.Event) error {
	strip := func(texts ...*string) {
		for _, text := range texts {
			*text = strings.ReplaceAll(*text, "\x00", "")
		}
	}
	strip(&e.Worker, &e.Note, &e.Log)
	curves := e.Curves
	if r := e.Release; r != nil {
		strip(&r.Reason, &r.Stderr)
	}
	if r := e.Refusal; r != nil {
		strip(&r.Reason)
	}
	names := []string{e.Execution}
	if r := e.Result; r != nil {
		strip(&r.Error, &r.Stderr, &r.KernelLevel)
		if r.Labels != nil { // from a worker that did not clean them
			*r.Labels, _ = r.Labels.Clean()
		}
		r.Inputs = r.Inputs.Clean()
		for _, digest := range []string{r.WeightsDigest, r.Digest} {
			if err := sweep.CheckText("digest", digest, false); err != nil {
				return err
			}
		}
		names = slices.AppendSeq(names, maps.Keys(r.Summary))
		for _, a := range r.Artifacts {
			if err := sweep.CheckArtifactName(a.Name); err != nil {
				return err
			}
		}
		curves = append(curves[:len(curves):len(curves)], r.Curves...)
	}
	for _, c := range curves {
		names = append(names, c.Metric)
	}
	for _, name := range names {
		if err := sweep.CheckName("name", name); err != nil {
			return err
		}
	}
	return nil
}
