package ledger

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sweep/sweep"
)

// The rules themselves are tested by storetest, in both databases.

func TestTrialIDs(t *testing.T) {
	event := func(id string, index int64) sweep.Event {
		return sweep.Event{TrialID: sweep.TrialID{Sweep: id, Index: index}}
	}
	got := TrialIDs([]sweep.Event{event("b", 2), event("a", 10), event("b", 2), event("a", 9),
		event("b", math.MinInt64), event("b", math.MaxInt64)})
	want := []sweep.TrialID{{Sweep: "a", Index: 9}, {Sweep: "a", Index: 10}, {Sweep: "b", Index: math.MinInt64},
		{Sweep: "b", Index: 2}, {Sweep: "b", Index: math.MaxInt64}}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// FuzzApply: whatever a message holds, applying it does not panic, keeps the
// states and counts sane, and leaves texts that a database takes.
func FuzzApply(f *testing.F) {
	f.Add([]byte(`[{"kind":"started","sweep":"s","index":0,"execution":"x"},{"kind":"result","sweep":"s","index":0,"execution":"x","result":{"state":"completed"}}]`))
	f.Add([]byte(`[{"kind":"released","sweep":"s","index":1,"execution":"\u0000","release":{"charged":true,"reason":"\ud800"}}]`))
	f.Add([]byte(`[{"kind":"started","sweep":"s","index":0,"execution":"x"},{"kind":"started","sweep":"s","index":0,"execution":"y"},{"kind":"lost","sweep":"s","index":0,"execution":"x"},{"kind":"lost","sweep":"s","index":0},{"kind":"released","sweep":"s","index":0,"execution":"x","release":{"charged":false}}]`))
	f.Add([]byte(`[{"kind":"points","sweep":"s","index":1,"execution":"a","curves":[{"metric":"m","steps":"AgI=","values":"AAAAAAAAAAA="}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var events []sweep.Event
		if json.Unmarshal(data, &events) != nil {
			return
		}
		l := New(time.Unix(0, 0))
		for i := range int64(2) {
			l.LoadTrial(&Trial{Key: i, ID: sweep.TrialID{Sweep: "s", Index: i}, State: sweep.Pending})
		}
		twice := append(append([]sweep.Event{}, events...), events...)
		l.Apply(twice, func(*Trial) Limits { return Limits{2, 2} })
		total := int64(0)
		for _, d := range l.Deltas() {
			total += d.Total()
		}
		if total != 0 {
			t.Errorf("the counters gain %d trials", total)
		}
		for _, trial := range l.Trials {
			charged, losses, executions := 0, 0, 0
			for _, e := range l.Executions {
				if e.Trial != trial {
					continue
				}
				executions++
				if e.counted() {
					losses++
				} else if e.Charged && !e.Forgotten {
					charged++
				}
				for _, text := range []string{e.ID, e.Worker, e.Reason, e.Stderr} {
					if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
						t.Errorf("%q cannot be stored", text)
					}
				}
			}
			if charged != trial.Charged || losses != trial.Losses || executions != trial.Executions {
				t.Errorf("of %d executions %d are charged and %d lost, the trial says %d, %d and %d",
					executions, charged, losses, trial.Executions, trial.Charged, trial.Losses)
			}
			if trial.State.Terminal() != (trial.Outcome != nil) {
				t.Errorf("%s with outcome %v", trial.State, trial.Outcome)
			}
		}
	})
}
