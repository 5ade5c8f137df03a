package sweep_test

import (
	"strings"
	"testing"

	"sweep/sweep"
)

func offer(change func(o *sweep.Offer)) sweep.Offer {
	o := sweep.Offer{
		Pool: "cpu", Slots: 2, Memory: 8 << 30,
		Trainers: []sweep.TrainerOffer{{Name: "builtin", Version: "1.2", ResultVersion: "5"}},
		Labels:   map[string]string{"gpu": "a100"},
	}
	if change != nil {
		change(&o)
	}
	return o
}

func TestOfferMeets(t *testing.T) {
	need := sweep.Requirement{Trainer: "builtin", ResultVersion: "5", Dataset: `{"dataset":"CBF"}`,
		DatasetDigest: "abcdef0123456789",
		Memory:        8 << 30, Labels: map[string]string{"gpu": "a100"}, Artifacts: true}
	for _, test := range []struct {
		name   string
		change func(o *sweep.Offer)
		// unmet is a part of the reason, "" if the offer meets the requirement.
		unmet string
	}{
		{"as wanted", nil, ""},
		{"unknown memory", func(o *sweep.Offer) { o.Memory = 0 }, ""},
		{"more labels", func(o *sweep.Offer) { o.Labels["zone"] = "b" }, ""},
		{"no trainer", func(o *sweep.Offer) { o.Trainers = nil }, "no worker offers trainer builtin; 1 worker has " +
			"none of this name"},
		{"trainer that does not start", func(o *sweep.Offer) { o.Trainers[0].Problem = "exit status 3" },
			"no worker offers trainer builtin; 1 worker has one that does not start: exit status 3"},
		{"another version", func(o *sweep.Offer) { o.Trainers[0].ResultVersion = "4" },
			"no worker offers trainer builtin with results of version 5; 1 worker offers version 4"},
		{"another label", func(o *sweep.Offer) { o.Labels["gpu"] = "h100" }, "no worker of pool cpu has the labels " +
			"gpu=a100; 1 worker has gpu=h100"},
		{"no label", func(o *sweep.Offer) { o.Labels = nil }, "1 worker has no gpu"},
		{"less memory", func(o *sweep.Offer) { o.Memory = 3 << 29 }, "a trial needs 8 GiB of memory; 1 worker has " +
			"1.5 GiB a slot"},
		{"other data", func(o *sweep.Offer) {
			o.OtherData = []string{"abcdef0123456789"}
			o.Datasets = map[string]string{`{"dataset":"CBF"}`: "fedcba987654321"}
		}, "no worker has data set dataset=CBF as it was submitted, with digest abcdef012345; 1 worker has it with " +
			"digest fedcba987654"},
		{"no artifacts", func(o *sweep.Offer) { o.NoArtifacts = "a full spool" },
			"no worker takes trials that leave artifacts; 1 worker has a full spool"},
	} {
		o := offer(test.change)
		unmet := need.Unmet("cpu", []sweep.Offer{o})
		if o.Meets(&need) != (test.unmet == "") || !strings.Contains(unmet, test.unmet) || test.unmet == "" &&
			unmet != "" {
			t.Errorf("%s: meets %v, unmet %q; want %q", test.name, o.Meets(&need), unmet, test.unmet)
		}
	}
}

// Of a program that has changed the reason says what to do, and no digests.
func TestUnmetProgram(t *testing.T) {
	need := sweep.Requirement{Trainer: "builtin", ResultVersion: "5", Dataset: "{}", DatasetDigest: "abc",
		Program: "train.py"}
	got := need.Unmet("cpu", []sweep.Offer{offer(func(o *sweep.Offer) { o.OtherData = []string{"abc"} })})
	if !strings.Contains(got, "train.py as it was submitted") || !strings.Contains(got, "changed or is missing on 1 worker") ||
		!strings.Contains(got, "put it back, or run the sweep file again") || strings.Contains(got, "digest") {
		t.Error(got)
	}
}

// The reason is that of the workers that come nearest, counted.
func TestUnmetNamesTheNearest(t *testing.T) {
	version := func(v string) sweep.Offer { return offer(func(o *sweep.Offer) { o.Trainers[0].ResultVersion = v }) }
	none := offer(func(o *sweep.Offer) { o.Trainers = nil })
	need := sweep.Requirement{Trainer: "builtin", ResultVersion: "5"}
	got := need.Unmet("cpu", []sweep.Offer{none, version("4"), version("3"), version("4"), version("4")})
	if want := "no worker offers trainer builtin with results of version 5; 3 workers offer version 4, 1 worker " +
		"offers version 3"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := need.Unmet("gpu", nil); !strings.Contains(got, "no worker of pool gpu") ||
		!strings.Contains(got, "sweep worker --pool gpu") {
		t.Error(got)
	}
	if got := need.Unmet("cpu", []sweep.Offer{none, version("5")}); got != "" {
		t.Errorf("met, but: %s", got)
	}
}

// What decides about placement is in the key, and nothing else.
func TestOfferKey(t *testing.T) {
	first := offer(nil)
	for name, change := range map[string]func(o *sweep.Offer){
		"slots":    func(o *sweep.Offer) { o.Slots = 9 },
		"datasets": func(o *sweep.Offer) { o.Datasets = map[string]string{"a": "b"} },
		"version":  func(o *sweep.Offer) { o.Trainers[0].Version = "9" },
		"a broken trainer": func(o *sweep.Offer) {
			o.Trainers = append(o.Trainers, sweep.TrainerOffer{Name: "other", Problem: "broken"})
		},
		"order of data": func(o *sweep.Offer) { o.OtherData = []string{} },
	} {
		if other := offer(change); other.Key() != first.Key() {
			t.Errorf("%s changes the key", name)
		}
	}
	seen := map[string]string{first.Key(): "nothing"}
	for name, change := range map[string]func(o *sweep.Offer){
		"pool":           func(o *sweep.Offer) { o.Pool = "gpu" },
		"result version": func(o *sweep.Offer) { o.Trainers[0].ResultVersion = "6" },
		"problem":        func(o *sweep.Offer) { o.Trainers[0].Problem = "broken" },
		"memory":         func(o *sweep.Offer) { o.Memory = 4 << 30 },
		"labels":         func(o *sweep.Offer) { o.Labels["zone"] = "b" },
		"data":           func(o *sweep.Offer) { o.OtherData = []string{"abc"} },
		"no artifacts":   func(o *sweep.Offer) { o.NoArtifacts = "a full spool" },
	} {
		other := offer(change)
		if before, there := seen[other.Key()]; there {
			t.Errorf("%s has the key of %s", name, before)
		}
		seen[other.Key()] = name
	}
}

func TestRoundMemory(t *testing.T) {
	for _, test := range [][2]int64{{-1, 0}, {0, 0}, {7, 7}, {15, 15}, {31, 30}, {1 << 30, 1 << 30},
		{1<<31 - 1, 15 << 27}, {1<<63 - 1, 15 << 59}} {
		if got := sweep.RoundMemory(test[0]); got != test[1] {
			t.Errorf("RoundMemory(%d) = %d, want %d", test[0], got, test[1])
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "4096B": 4096, "1K": 1000, "1KB": 1000, "1KiB": 1024, "8GiB": 8 << 30, "8 GiB": 8 << 30,
		"1.5GB": 1_500_000_000,
		"512Mi": 512 << 20, " 2TiB ": 2 << 40,
		"": -1, "GiB": -1, "-1GiB": -1, "1 XB": -1, "1iB": -1, "1e9": -1, "9999999PiB": -1, "1GiB x": -1,
	} {
		got, err := sweep.ParseSize(text)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("ParseSize(%q) = %d, %v", text, got, err)
		}
	}
	for size, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 8 << 30: "8 GiB"} {
		if got := sweep.SizeText(size); got != want {
			t.Errorf("SizeText(%d) = %s, want %s", size, got, want)
		}
	}
}
