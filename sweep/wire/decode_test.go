package wire

import (
	"encoding/json"
	"testing"
	"time"

	"sweep/sweep"
)

// Whatever arrives, decoding gives a job that fits its subject, or an error.
func FuzzDecodeJob(f *testing.F) {
	f.Add("sweep.work.cpu.a.s1.0",
		[]byte(
			`{"version":5,"sweep":"s1","index":0,"requirement":{"trainer":"noop"},"pool":"cpu","parameters":{"a":1}}`))
	f.Add("sweep.work.cpu.a.s1.0", []byte(`{"version":6}`))
	f.Add("sweep.work", []byte(`[`))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		job, err := decodeJob(subject, data)
		if err != nil {
			return
		}
		q, _, err := trialOfJob(subject)
		if err != nil || q.Pool != job.Pool {
			t.Errorf("%q decodes to a job of pool %s", subject, job.Pool)
		}
		if s := q.subject(job.TrialID); s != subject && job.Index != 0 {
			// Leading zeros and signs are the only other way to write an index.
			if _, id, err := trialOfJob(s); err != nil || id != job.TrialID {
				t.Errorf("%q decodes to a job of %q", subject, s)
			}
		}
		if _, err := json.Marshal(jobMessage{Version, *job}); err != nil {
			t.Errorf("a decoded job does not encode: %v", err)
		}
	})
}

// Whatever arrives, decoding gives events that a store can take, or an error.
func FuzzDecodeEvents(f *testing.F) {
	result := &sweep.Result{State: sweep.Completed, Summary: map[string]float64{"loss": 1},
		Curves: []sweep.Curve{{Metric: "loss", Steps: []int64{1}, Values: []float32{2}}}}
	events := []sweep.Event{{
		Kind: sweep.EventResult, TrialID: sweep.TrialID{Sweep: "s1"}, Execution: "e", Time: time.Unix(0, 0).UTC(),
		Result: result,
	}}
	data, err := json.Marshal(eventMessage{Version: Version, Pool: "cpu", Events: events})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("sweep.events.cpu.w1", data)
	if data, err = encodeEvents("cpu", events); err != nil {
		f.Fatal(err)
	}
	f.Add("sweep.events.cpu.w1", data)
	f.Add("sweep.events.cpu.w1",
		[]byte(`{"version":5,"pool":"cpu","events":[{"kind":"started","sweep":"s1","execution":"\u0000"}]}`))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		events, err := decodeEvents(subject, data)
		if err != nil {
			return
		}
		for _, e := range events.Events {
			if checkEvent(&e) != nil {
				continue
			}
			if e.Execution == "" || e.Kind == sweep.EventResult && !e.Result.State.Terminal() {
				t.Errorf("accepted %+v", e)
			}
			for _, c := range e.Curves {
				if len(c.Steps) != len(c.Values) {
					t.Errorf("curve %q: %d steps, %d values", c.Metric, len(c.Steps), len(c.Values))
				}
			}
		}
	})
}
