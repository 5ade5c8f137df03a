package model

import (
	"cmp"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/loss"
	"sweep/model/network"
	"sweep/model/task"
	"sweep/sweep"
	"sweep/sweep/safetensors"
)

// weightsOf trains a trial and returns its weights artifact.
func weightsOf(t *testing.T, dataDir string, point sweep.Parameters) []byte {
	t.Helper()
	sink := newCollector()
	request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: resolve(t, point)}, DataDir: dataDir,
		Artifacts: []string{WeightsArtifact}}
	if _, err := newTrainer(t).Train(t.Context(), request, sink); err != nil {
		t.Fatal(err)
	}
	return sink.artifact
}

// completer loads weights.
func completer(t *testing.T, artifact []byte, beam int) *Completer {
	t.Helper()
	c, err := newTrainer(t).LoadCompleter(artifact, beam)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// With a beam as wide as there are texts the search finds what enumerating all of them finds, each scored by a pass
// over the whole query; a narrow one finds queries with the same probabilities.
func TestCompletionFindsTheMostProbable(t *testing.T) {
	const longest, codes, most = 4, 5, 10
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "queries"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "queries", "q.txt"),
		[]byte(strings.Repeat("aab\nabca\ncab\nbb\na\ncä\n", 20)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, stack := range []sweep.Parameters{
		{"model": "spectral-rnn", "m1": int64(4), "m2": int64(4), "layers": int64(2)},
		{"model": "spectral-rnn", "m1": int64(4), "m2": int64(4), "top": "lstm", "top_hidden": int64(9)},
	} {
		model := stack["top"]
		point := sweep.Parameters{"dataset": "queries", "alphabet": int64(codes), "hidden": int64(12),
			"length": int64(longest), "epochs": int64(3), "lr": 0.02}
		maps.Copy(point, stack)
		artifact := weightsOf(t, dir, point)
		net, work, err := newTrainer(t).Load(artifact, dir, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer net.Close()
		probabilities := enumerate(net, work, longest)
		if len(probabilities) != 1+3+9+27+81 {
			t.Fatalf("%d queries", len(probabilities))
		}
		wide, narrow := completer(t, artifact, 81), completer(t, artifact, 3)
		for _, prefix := range []string{"", "a", "cab", "abca", "ab", ""} {
			var want []Completion
			given := math.Exp(-lossOf(net, work, alphabetOf(work), prefix, false))
			for query, p := range probabilities {
				if strings.HasPrefix(query, prefix) {
					want = append(want, Completion{query, p / given})
				}
			}
			slices.SortFunc(want, func(a, b Completion) int { return cmp.Compare(b.Probability, a.Probability) })
			got, err := wide.Complete(t.Context(), prefix, most)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != min(most, len(want)) {
				t.Errorf("top %v, %q: %d completions", model, prefix, len(got))
			}
			for i := range got {
				if got[i].Query != want[i].Query || math.Abs(got[i].Probability-want[i].Probability) > 1e-5 {
					t.Errorf("top %v, %q: completion %d is %+v, want %+v", model, prefix, i, got[i], want[i])
				}
			}
			few, err := narrow.Complete(t.Context(), prefix, 3)
			if err != nil || len(few) == 0 {
				t.Errorf("top %v, %q: %v, %v", model, prefix, few, err)
			}
			for _, c := range few {
				if math.Abs(c.Probability-probabilities[c.Query]/given) > 1e-5 {
					t.Errorf("top %v, %q: a narrow beam has %+v, want %v", model, prefix, c, probabilities[c.Query]/given)
				}
			}
		}
	}
}

// enumerate returns the probability of every query that can be spelt.
func enumerate(net *network.Network[float32], work task.Task, longest int) map[string]float64 {
	all, texts := map[string]float64{}, []string{""}
	alphabet := alphabetOf(work)
	for len(texts) > 0 {
		var longer []string
		for _, text := range texts {
			all[text] = math.Exp(-lossOf(net, work, alphabet, text, true))
			for _, r := range alphabet {
				if len(text) < longest {
					longer = append(longer, text+string(r))
				}
			}
		}
		texts = longer
	}
	return all
}

// alphabetOf returns the characters that have codes.
func alphabetOf(work task.Task) []rune { return work.(interface{ Alphabet() []rune }).Alphabet() }

// lossOf returns -ln P of a text, with the end after it or not.
func lossOf(net *network.Network[float32], work task.Task, alphabet []rune, text string, ended bool) float64 {
	b := task.NewBatch[float32](work.Shape(), 1, net.Rows())
	b.Reset(len(text)+1, 1, false)
	clear(b.X.Data)
	read := task.EndOfQuery
	for i, r := range []rune(text) {
		b.X.Row(i)[read] = 1
		read = task.FirstCharacter + slices.Index(alphabet, r)
		b.Targets.Classes[i] = read
	}
	b.X.Row(len(text))[read] = 1
	b.Targets.Classes[len(text)] = task.EndOfQuery
	if !ended {
		b.Targets.Classes[len(text)] = loss.NoTarget
	}
	return net.Evaluate(b).Loss
}

// After a short training on the generated queries the completions are those of the grammar, nearly with its
// probabilities.
func TestCompletionsAreTheGrammars(t *testing.T) {
	artifact := weightsOf(t, "", sweep.Parameters{"dataset": "generated-queries", "alphabet": int64(32), "model": "gru",
		"hidden": int64(48), "epochs": int64(8), "lr": 0.02, "decay": 0.7})
	c := completer(t, artifact, 16)
	truth := dataset.GeneratedQueryProbabilities()
	for _, prefix := range []string{"", "mic", "micro", "mickey mouse", "nike s"} {
		given := 0.0
		for query, p := range truth {
			if strings.HasPrefix(query, prefix) {
				given += p
			}
		}
		completions, err := c.Complete(t.Context(), prefix, 5)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range completions[:3] {
			want := truth[got.Query] / given
			t.Logf("P(%q → %q) = %.3f, in the grammar %.3f", prefix, got.Query, got.Probability, want)
			if math.Abs(got.Probability-want) > .07 || i > 0 && got.Probability > completions[i-1].Probability {
				t.Errorf("P(%q → %q) is %.3f, want %.3f", prefix, got.Query, got.Probability, want)
			}
		}
	}
	if rare := c.Rare("usb日é日"); string(rare) != "日é" {
		t.Errorf("rare characters %q", string(rare))
	}
	if _, err := c.Complete(t.Context(), "日", 5); err != nil {
		t.Errorf("a prefix with a rare character: %v", err)
	}
	for prefix, want := range map[string]string{"\xff": "UTF-8", strings.Repeat("a", 61): "at most 60"} {
		if _, err := c.Complete(t.Context(), prefix, 5); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

// Weights that complete nothing are refused, and damaged ones do not panic.
func TestCompleterRefuses(t *testing.T) {
	trainer := newTrainer(t)
	other := weightsOf(t, "", sweep.Parameters{"dataset": "generated-cbf", "epochs": int64(1), "model": "rnn"})
	if _, err := trainer.LoadCompleter(other, 4); err == nil || !strings.Contains(err.Error(), "classification") {
		t.Errorf("weights of a classification: %v", err)
	}
	good := weightsOf(t, "", sweep.Parameters{"dataset": "generated-queries", "epochs": int64(1), "model": "rnn",
		"alphabet": int64(8)})
	if _, err := trainer.LoadCompleter(good[:len(good)/2], 4); err == nil {
		t.Error("half a file was taken")
	}
	file, err := safetensors.Decode(good)
	if err != nil {
		t.Fatal(err)
	}
	file.Metadata[alphabetKey] = "abcdefghijkl"
	long, err := file.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trainer.LoadCompleter(long, 4); err == nil || !strings.Contains(err.Error(), "12 characters") {
		t.Errorf("more characters than codes: %v", err)
	}
}

// untrained returns a completer of queries up to 20 characters long with a network at its start, but for the biases of
// its outputs: no text ends before its longest, and the search follows as many as the beam is wide at every length.
func untrained(tb testing.TB, stack sweep.Parameters, beam int, products bool) *Completer {
	tb.Helper()
	point := sweep.Parameters{"dataset": "generated-queries", "length": int64(20)}
	maps.Copy(point, stack)
	trainer, err := NewTrainer()
	if err != nil {
		tb.Fatal(err)
	}
	parameters, err := schema().Resolve(point)
	if err != nil {
		tb.Fatal(err)
	}
	s, work, err := trainer.open(parameters, "")
	if err != nil {
		tb.Fatal(err)
	}
	net, err := network.New(tb.Context(), kernel.Float32(), s.spec(task.CharacterShape(1, 200)),
		network.Room{Batch: beam, History: 1 << 30, Threads: runtime.GOMAXPROCS(0), Rows: beam, Products: products})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(net.Close)
	for _, v := range net.Arena.Views() {
		if v.Name == "c" {
			for code := range v.Value {
				v.Value[code] = -.3 * float32(code)
			}
			v.Value[task.EndOfQuery] = -100
		}
	}
	c := &Completer{net: net, alphabet: alphabetOf(work), codes: map[rune]int{}, longest: 20, beam: beam}
	for i, r := range c.alphabet {
		c.codes[r] = task.FirstCharacter + i
	}
	return c
}

// Threads that share the products change no bit, nor does what was completed before.
func TestCompletionsDoNotDependOnThreads(t *testing.T) {
	for _, stack := range []sweep.Parameters{
		{"model": "lstm", "hidden": int64(160), "layers": int64(2)},
		{"model": "gru", "hidden": int64(160)},
		{"model": "rnn", "hidden": int64(320), "top": "lstm", "top_hidden": int64(160)},
	} {
		alone, shared := untrained(t, stack, 16, false), untrained(t, stack, 16, true)
		want, err := alone.Complete(t.Context(), "micro", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, before := range []string{"", "microphone", "mica", "micro"} {
			if _, err := shared.Complete(t.Context(), before, 10); err != nil {
				t.Fatal(err)
			}
			got, err := shared.Complete(t.Context(), "micro", 10)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v after %q: %v, %v, want %v", stack, before, got, err, want)
			}
		}
	}
}

// BenchmarkComplete is one prefix of five characters, with ten completions of fifteen more, by a beam of sixteen that
// is full at every length; without the time to load the weights.
func BenchmarkComplete(b *testing.B) {
	for name, stack := range map[string]sweep.Parameters{
		"lstm":         {"model": "lstm", "hidden": int64(1024), "layers": int64(2)},
		"gru":          {"model": "gru", "hidden": int64(1024), "layers": int64(2)},
		"spectral-rnn": {"model": "spectral-rnn", "hidden": int64(1024), "layers": int64(2)},
		"spectral-rnn-lstm": {"model": "spectral-rnn", "hidden": int64(2048), "m1": int64(256), "m2": int64(256),
			"top": "lstm", "top_hidden": int64(1024)},
	} {
		b.Run(name, func(b *testing.B) {
			c := untrained(b, stack, 16, true)
			var times []time.Duration
			for b.Loop() {
				c.read, c.after = nil, c.after[:min(len(c.after), 1)] // as if the prefix were the first
				start := time.Now()
				if _, err := c.Complete(b.Context(), "micro", 10); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[0].Microseconds())/1e3, "min-ms")
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1e3, "median-ms")
		})
	}
}
