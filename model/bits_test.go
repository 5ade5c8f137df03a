package model

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/system"
	"sweep/sweep"
)

var update = flag.Bool("update", false, "write testdata/bits.json anew")

// bits are the digests of results by case and kernel level. They belong to a result version:
// whoever changes one of them changes the version.
type bits struct {
	ResultVersion string                       `json:"result_version"`
	Digests       map[string]map[string]string `json:"digests"`
}

// bitsCase is a short trial whose result is known bit by bit.
type bitsCase struct {
	point   sweep.Parameters
	history int64 // bytes; 0 for all of it
}

// bitsCases cover each system in classification (dropout, refit, averaged weights), each
// recurrent one on long sequences whose history is kept in segments, and each cell in two layers
// below a wide output layer with states carried from minibatch to minibatch. Others apply a
// matrix by its factors, or form it from them.
func bitsCases() map[string]bitsCase {
	cases := map[string]bitsCase{}
	for _, s := range system.All {
		classify := sweep.Parameters{
			"dataset": dataset.GeneratedCBF, "model": s.Name, "hidden": int64(16), "epochs": int64(4),
			"batch":   int64(10),
			"dropout": 0.1, "refit": 0.5, "average": 0.5, "test_every": int64(-1),
		}
		if s.FeedForward {
			classify["layers"] = int64(5)
		}
		if slices.ContainsFunc(s.Parameters, func(p *sweep.ParameterSchema) bool { return p.Name == "m1" }) &&
			s.Name != "sgornn" {
			classify["m1"] = int64(7)
		}
		cases[s.Name+" classification"] = bitsCase{point: classify}
		if s.FeedForward {
			continue
		}
		cases[s.Name+" addition"] = bitsCase{history: 1, point: sweep.Parameters{
			"dataset": "addition", "model": s.Name, "hidden": int64(16), "length": int64(150), "batch": int64(60),
			"steps": int64(3), "validate_every": int64(2), "held": int64(70),
		}}
	}
	for _, cell := range []string{"rnn", "lstm", "gru", "sgornn"} {
		cases[cell+" language"] = bitsCase{point: sweep.Parameters{
			"dataset": dataset.GeneratedText, "model": cell, "hidden": int64(16), "layers": int64(2),
			"length": int64(10),
			"batch":  int64(300), "epochs": int64(1), "dropout": 0.1, "embedding": int64(9), "embedding_dropout": 0.1,
		}}
	}
	large := func(model string, more sweep.Parameters) bitsCase {
		point := sweep.Parameters{
			"dataset": dataset.GeneratedCBF, "model": model, "hidden": int64(128), "epochs": int64(1),
			"batch": int64(15), "test_every": int64(-1),
		}
		for name, value := range more {
			point[name] = value
		}
		return bitsCase{point: point}
	}
	cases["spectral-rnn by factors"] = large("spectral-rnn", sweep.Parameters{"m1": int64(8), "m2": int64(8)})
	cases["spectral-rnn formed"] = large("spectral-rnn", sweep.Parameters{"m1": int64(24), "m2": int64(24)})
	cases["sgornn formed"] = large("sgornn", sweep.Parameters{"map": "householder", "m1": int64(24)})
	cases["sgornn exponential"] = large("sgornn", sweep.Parameters{"map": "exp", "hidden": int64(24)})
	cases["factorized-rnn clipped"] = large("factorized-rnn", sweep.Parameters{"sigma": "clip", "sigma_penalty": 0.05,
		"hidden": int64(24)})
	cases["spectral-rnn clipped"] = large("spectral-rnn", sweep.Parameters{"sigma": "clip", "sigma_penalty": 0.05,
		"hidden": int64(24)})
	cases["spectral-mlp by factors"] = large("spectral-mlp", sweep.Parameters{"m1": int64(8), "m2": int64(8),
		"layers": int64(3)})
	cases["spectral-resnet by factors"] = large("spectral-resnet", sweep.Parameters{"m1": int64(8), "m2": int64(8),
		"layers": int64(3)})
	cases["urnn by factors"] = large("urnn", sweep.Parameters{"hidden": int64(64)})
	cases["copy"] = bitsCase{history: 1, point: sweep.Parameters{
		"dataset": "copy", "model": "spectral-rnn", "length": int64(100), "hidden": int64(64), "m1": int64(4),
		"m2":            int64(4),
		"initial_state": "zero", "steps": int64(3), "validate_every": int64(2), "held": int64(70), "batch": int64(70),
		"dropout": 0.1,
	}}
	for name, start := range map[string]sweep.Parameters{
		"lstm of keras": {"start": "keras", "recurrent_scale": 0.5}, "gru of keras": {"start": "keras"},
		"lstm orthogonal": {"start": "orthogonal"}, "vprnn uniform": {"start": "uniform"},
		"sgornn uniform": {"start": "uniform"}, "fastrnn bounded": {"gate_bound": true, "alpha_start": int64(-1)},
	} {
		model, _, _ := strings.Cut(name, " ")
		cases[name] = large(model, start)
	}
	for _, c := range cases {
		if model := c.point["model"]; model == "fc-urnn" || model == "factorized-rnn" {
			c.point["factor_rate"] = int64(100) // at which a difference shows
		}
	}
	return cases
}

// TestBits: equal parameters give equal bits from one program to the next, at each kernel
// level, as long as the result version stays.
func TestBits(t *testing.T) {
	if testing.Short() {
		t.Skip("left out under -short: it goes through all kernel levels itself")
	}
	if runtime.GOARCH != "amd64" || len(kernel.Levels()) < 2 {
		t.Skip("left out: the digests are of amd64 processors with AVX2, elsewhere other instructions round the " +
			"plain level")
	}
	path := filepath.Join("testdata", "bits.json")
	var known bits
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil || known.ResultVersion != resultVersion {
		if !*update {
			t.Fatalf("%s is of result version %q (%v), want %s: go test ./model -run TestBits -update", path,
				known.ResultVersion, err, resultVersion)
		}
		known = bits{ResultVersion: resultVersion, Digests: map[string]map[string]string{}}
	}
	for name, c := range bitsCases() {
		if *update && known.Digests[name] == nil {
			known.Digests[name] = map[string]string{} // else those of levels that this machine lacks stay
		}
		for _, level := range kernel.Levels() {
			want := known.Digests[name][level.String()]
			if want == "" && !*update {
				continue // a level that the digests were not made at
			}
			got := c.digest(t, level)
			if *update && want == "" {
				known.Digests[name][level.String()] = got
			} else if got != want {
				t.Errorf("%s, level %v: digest %s, before %s: other results want another result version", name,
					level, got, want)
			}
		}
		if len(known.Digests[name]) == 0 {
			t.Errorf("%s: no digest is known: go test ./model -run TestBits -update", name)
		}
	}
	if *update {
		data, err := json.MarshalIndent(known, "", "\t")
		if err == nil {
			err = os.WriteFile(path, append(data, '\n'), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// digest trains the case at a level and returns the beginning of its result's digest.
func (c bitsCase) digest(t *testing.T, level kernel.Level) string {
	t.Helper()
	set, err := kernel.Float32At(level)
	if err != nil {
		t.Fatal(err)
	}
	trainer := newTrainer(t)
	trainer.kernels = set
	if c.history > 0 {
		trainer.history = c.history
	}
	return train(t, trainer, "", c.point).ComputeDigest(description().Volatile())[:16]
}
