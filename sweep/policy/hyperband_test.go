package policy

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// observed returns what is observed of a trial with a history.
func observed(rule *Hyperband, index int, running bool, history ...float32) sweep.Observation {
	w := sweep.NewWatch(&sweep.StopRule{Metric: rule.Metric, Goal: rule.Goal, Bands: rule.Bands,
		Best: !rule.Strict})
	steps := make([]int64, len(history))
	for i := range steps {
		steps[i] = int64(3 * i)
	}
	w.Cut([]sweep.Curve{{Metric: rule.Metric, Steps: steps, Values: history}})
	return sweep.Observation{Number: int64(index + 1), Trial: int64(index), Positions: w.Marks().Positions(),
		Values: w.Marks().Values, Best: float32(w.Marks().BestOr(0)), Open: running}
}

// The bands and decisions are those of W&B's engine for its own examples.
func TestHyperbandExamples(t *testing.T) {
	histories := [][]float32{{10, 10}, {10, 8, 8}, {10, 7, 7}, {10, 6, 6}, {3, 9, 9, 9}}
	for _, test := range []struct {
		hyperband Hyperband
		bands     string
		want      string
	}{
		{Hyperband{Bands: bandsUpTo(5, 2, 2), Eta: 2, Strict: true}, "1 2", "ae"},
		{Hyperband{Bands: bandsUpTo(5, 2, 2), Eta: 2}, "1 2", "a"},
		{Hyperband{Bands: bandsFrom(1, 2), Eta: 2, Strict: true}, "1 2 4 8 ", "a"},
		{Hyperband{Bands: bandsFrom(2, 3), Eta: 3, Strict: true}, "2 6 18 ", "abe"},
		{Hyperband{Bands: bandsUpTo(27, 2, 3), Eta: 3, Strict: true}, "3 9", "be"},
		{Hyperband{Bands: bandsFrom(3, 3), Eta: 3, Strict: true}, "3 9 27 ", "be"},
		{Hyperband{Bands: bandsUpTo(18, 2, 3), Eta: 3, Strict: true}, "2 6", "abe"},
		{Hyperband{Bands: bandsUpTo(81, 3, 3), Eta: 3, Strict: true}, "3 9 27", "be"},
	} {
		rule := &test.hyperband
		rule.While = While{Metric: "loss", Goal: sweep.Minimize}
		if text := strings.Trim(fmt.Sprint(rule.Bands), "[]"); !strings.HasPrefix(text, test.bands) {
			t.Errorf("bands %.30s, want %s", text, test.bands)
		}
		var trials []sweep.Observation
		for _, h := range histories {
			trials = append(trials, observed(rule, len(trials), true, h...))
		}
		got := ""
		for _, d := range hyperbandStops(rule, trials) {
			got += string(rune('a' + d.Index))
		}
		if got != test.want {
			t.Errorf("bands %.30s: %s are stopped, want %s", test.bands, got, test.want)
		}
	}
}

// counted draws numbers by their place.
type counted struct{ seed, n uint64 }

func (c *counted) below(k uint64) uint64 {
	c.n++
	z := c.seed<<32 + c.n + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) % k
}

// The decisions about 1,000 generated sweeps are those that W&B's engine made, recorded in testdata.
func TestHyperbandAgainstWandb(t *testing.T) {
	text, err := os.ReadFile("testdata/hyperband.txt")
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	if len(recorded) != 1000 {
		t.Fatalf("%d recorded cases", len(recorded))
	}
	etas := []float64{2, 3, 4, 1.5, 2.5, 1.1}
	for i, want := range recorded {
		c := &counted{seed: uint64(i)}
		h := &Hyperband{While: While{Metric: "loss", Goal: sweep.Minimize}, Eta: etas[c.below(6)], Strict: c.below(2) == 0}
		if c.below(2) == 0 {
			h.Bands = bandsFrom(int64(1+c.below(6)), h.Eta)
		} else {
			most := int64(2 + c.below(60))
			h.Bands = bandsUpTo(most, int64(1+c.below(4)), h.Eta)
		}
		if c.below(2) == 1 {
			h.Goal = sweep.Maximize
		}
		var trials []sweep.Observation
		for range 1 + c.below(30) {
			running := c.below(3) > 0
			length, level := c.below(50), int(c.below(40))
			history := make([]float32, length)
			for j := range history {
				if history[j] = float32(level+int(c.below(16))-j/4) / 8; c.below(20) == 0 {
					history[j] = float32(math.NaN())
				}
			}
			if len(h.Bands) > 0 {
				trials = append(trials, observed(h, len(trials), running, history...))
			}
		}
		var names []string
		for _, d := range hyperbandStops(h, trials) {
			names = append(names, fmt.Sprint(d.Index))
		}
		got := strings.TrimSpace(fmt.Sprintf("%d: %s", i, strings.Join(names, ",")))
		if len(h.Bands) == 0 {
			got = fmt.Sprintf("%d: no band", i)
		}
		if got != want {
			t.Errorf("case %d (%+v, %s): %s, want %s", i, *h, h.Goal, got, want)
		}
	}
}

// A decision names the values that it compares.
func TestHyperbandDecision(t *testing.T) {
	rule := &Hyperband{While: While{Metric: "accuracy", Goal: sweep.Maximize}, Bands: []int64{2}, Eta: 2, Strict: true}
	var trials []sweep.Observation
	for i := range 4 {
		trials = append(trials, observed(rule, i, i == 0, 0, float32(i)))
	}
	want := []sweep.Stop{{Band: 2, Value: 0, Threshold: 1, Trials: 4, Observation: 4}}
	if got := hyperbandStops(rule, trials); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
