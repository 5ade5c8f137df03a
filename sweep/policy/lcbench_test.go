package policy

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"sweep/sweep"
	"sweep/sweep/statistics"
)

// surrogate is the network of YAHPO Gym that stands for LCBench (slds-lmu/yahpo_data, lcbench):
// F. Pfisterer et al., YAHPO Gym, AutoML 2022. It reads the parts of ONNX that this network has.
type surrogate struct {
	constants map[string]tensor
	nodes     []node
	tasks     map[string]int
}

// tensor is a matrix of rows × columns; a vector has one row.
type tensor struct {
	rows   int
	values []float64
}

type node struct {
	operator string
	in       []string
	out      string
	value    tensor
	epsilon  float64
}

// fields calls take for each field of a protobuf message: its number, and what it has.
func fields(message []byte, take func(number int, value uint64, data []byte)) {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		message = message[n:]
		switch key & 7 {
		case 0:
			value, n := binary.Uvarint(message)
			message = message[n:]
			take(int(key>>3), value, nil)
		case 2:
			size, n := binary.Uvarint(message)
			take(int(key>>3), 0, message[n:n+int(size)])
			message = message[n+int(size):]
		case 5:
			take(int(key>>3), uint64(binary.LittleEndian.Uint32(message)), nil)
			message = message[4:]
		default:
			take(int(key>>3), binary.LittleEndian.Uint64(message), nil)
			message = message[8:]
		}
	}
}

func readTensor(message []byte) (name string, t tensor) {
	t.rows = 1
	var dimensions []int
	var kind uint64
	fields(message, func(number int, value uint64, data []byte) {
		switch number {
		case 1:
			for len(data) > 0 {
				d, n := binary.Uvarint(data)
				dimensions, data = append(dimensions, int(d)), data[n:]
			}
			if value > 0 {
				dimensions = append(dimensions, int(value))
			}
		case 2:
			kind = value
		case 8:
			name = string(data)
		case 9:
			for len(data) > 0 {
				if kind == 7 {
					t.values = append(t.values, float64(int64(binary.LittleEndian.Uint64(data))))
					data = data[8:]
				} else {
					t.values = append(t.values, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
					data = data[4:]
				}
			}
		}
	})
	if len(dimensions) == 2 {
		t.rows = dimensions[0]
	}
	return name, t
}

func openSurrogate(t testing.TB) *surrogate {
	t.Helper()
	directory := filepath.Join(os.Getenv("SWEEP_TEST_DATA"), "lcbench")
	model, err := os.ReadFile(filepath.Join(directory, "model.onnx"))
	if err != nil {
		t.Skipf("left out: the surrogate of LCBench is not there (%v); set SWEEP_TEST_DATA", err)
	}
	encoding, err := os.ReadFile(filepath.Join(directory, "encoding.json"))
	if err != nil {
		t.Fatal(err)
	}
	var encodings struct {
		OpenML map[string]int `json:"OpenML_task_id"`
	}
	if err := json.Unmarshal(encoding, &encodings); err != nil {
		t.Fatal(err)
	}
	s := &surrogate{constants: map[string]tensor{}, tasks: encodings.OpenML}
	fields(model, func(number int, _ uint64, graph []byte) {
		if number != 7 {
			return
		}
		fields(graph, func(number int, _ uint64, data []byte) {
			switch number {
			case 1:
				s.nodes = append(s.nodes, readNode(data))
			case 5:
				name, value := readTensor(data)
				s.constants[name] = value
			}
		})
	})
	return s
}

func readNode(message []byte) (n node) {
	fields(message, func(number int, _ uint64, data []byte) {
		switch number {
		case 1:
			n.in = append(n.in, string(data))
		case 2:
			n.out = string(data)
		case 4:
			n.operator = string(data)
		case 5:
			var name string
			fields(data, func(number int, value uint64, data []byte) {
				switch {
				case number == 1:
					name = string(data)
				case number == 2 && name == "epsilon":
					n.epsilon = float64(math.Float32frombits(uint32(value)))
				case number == 5:
					_, n.value = readTensor(data)
				}
			})
		}
	})
	return n
}

// evaluate returns time, validation accuracy in percent, and the other four outputs of a task at
// epoch, batch size, learning rate, momentum, weight decay, layers, units and dropout.
func (s *surrogate) evaluate(task string, inputs ...float64) []float64 {
	values := map[string]tensor{"x_cat": {1, []float64{float64(s.tasks[task])}}, "x_cont": {1, inputs}}
	get := func(name string) tensor {
		if v, ok := values[name]; ok {
			return v
		}
		return s.constants[name]
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		in := make([]tensor, len(n.in))
		for k, name := range n.in {
			in[k] = get(name)
		}
		values[n.out] = n.run(in)
	}
	return values["output"].values
}

func (n *node) run(in []tensor) tensor {
	each := func(f func(i int) float64) tensor {
		length := 0
		for _, t := range in {
			length = max(length, len(t.values))
		}
		out := make([]float64, length)
		for i := range out {
			out[i] = f(i)
		}
		return tensor{1, out}
	}
	at := func(k, i int) float64 { return in[k].values[i%len(in[k].values)] }
	switch n.operator {
	case "Constant":
		return n.value
	case "Gather":
		width := len(in[0].values) / in[0].rows
		i := int(in[1].values[0])
		if in[0].rows > 1 {
			return tensor{1, in[0].values[i*width : (i+1)*width]}
		}
		i = (i + width) % width
		return tensor{1, in[0].values[i : i+1]}
	case "Concat":
		var all []float64
		for _, t := range in {
			all = append(all, t.values...)
		}
		return tensor{1, all}
	case "Shape":
		return tensor{1, []float64{1, float64(len(in[0].values))}}
	case "Slice":
		return tensor{1, in[0].values[int(in[1].values[0]):min(int(in[2].values[0]), len(in[0].values))]}
	case "Gemm":
		out := slices.Clone(in[2].values)
		width := len(in[0].values)
		for r := range out {
			for c, v := range in[1].values[r*width : (r+1)*width] {
				out[r] += v * in[0].values[c]
			}
		}
		return tensor{1, out}
	case "BatchNormalization":
		return each(func(i int) float64 {
			return (at(0, i)-at(3, i))/math.Sqrt(at(4, i)+n.epsilon)*at(1, i) + at(2, i)
		})
	case "Cast", "Unsqueeze":
		return in[0]
	}
	return each(map[string]func(i int) float64{
		"Add":     func(i int) float64 { return at(0, i) + at(1, i) },
		"Sub":     func(i int) float64 { return at(0, i) - at(1, i) },
		"Mul":     func(i int) float64 { return at(0, i) * at(1, i) },
		"Div":     func(i int) float64 { return at(0, i) / at(1, i) },
		"Log":     func(i int) float64 { return math.Log(at(0, i)) },
		"Exp":     func(i int) float64 { return math.Exp(at(0, i)) },
		"Relu":    func(i int) float64 { return max(at(0, i), 0) },
		"Sigmoid": func(i int) float64 { return 1 / (1 + math.Exp(-at(0, i))) },
	}[n.operator])
}

// The outputs are those of the network in NumPy.
func TestSurrogate(t *testing.T) {
	s := openSurrogate(t)
	for _, c := range []struct {
		task  string
		epoch float64
		want  []float64
	}{
		{"3945", 1, []float64{17.4877, 49.4737, .648474, .494602, .640985, .497787}},
		{"3945", 52, []float64{143.51, 91.3742, .331572, .702667, .434027, .673233}},
		{"167168", 10, []float64{45.159, 63.3861, .931878, .599572, 1.26155, .599093}},
		{"189906", 52, []float64{110.927, 89.9075, .43107, .874634, 1.38747, .877853}},
	} {
		got := s.evaluate(c.task, c.epoch, 64, .01, .9, 1e-4, 3, 256, .2)
		for i, want := range c.want {
			if math.Abs(got[i]-want) > 2e-5*math.Abs(want)+1e-6 {
				t.Errorf("task %s, epoch %v, output %d: %v, want %v", c.task, c.epoch, i, got[i], want)
			}
		}
	}
}

// lcbenchSpec is the space of LCBench at 52 epochs.
func lcbenchSpec(trials, seed int64) *sweep.Spec {
	count := func(name string, low, high int64) sweep.Axis {
		return axisOf(name, sweep.Values{Range: &sweep.Range{Start: float64(low), Step: 1, Count: high - low + 1,
			Integer: true}})
	}
	return &sweep.Spec{Cap: trials, Random: &sweep.Random{Seed: seed}, Axes: []sweep.Axis{
		axisOf("batch", numbers(sweep.LogUniformValuesDistribution, 16, 512, 1)),
		axisOf("lr", numbers(sweep.LogUniformValuesDistribution, 1e-4, .1, 0)),
		axisOf("momentum", numbers(sweep.UniformDistribution, .1, .99, 0)),
		axisOf("decay", numbers(sweep.UniformDistribution, 1e-5, .1, 0)),
		count("layers", 1, 5),
		axisOf("units", numbers(sweep.LogUniformValuesDistribution, 64, 1024, 1)),
		axisOf("dropout", numbers(sweep.UniformDistribution, 0, 1, 0)),
	}}
}

// accuracy is the validation accuracy of a point in percent.
func (s *surrogate) accuracy(task string, p sweep.Parameters) float64 {
	inputs := []float64{52}
	for _, name := range []string{"batch", "lr", "momentum", "decay", "layers", "units", "dropout"} {
		value, _ := sweep.Number(p[name])
		inputs = append(inputs, value)
	}
	return s.evaluate(task, inputs...)[1]
}

// batches are the sizes of the generations that BenchmarkLCBench compares.
var batches = []int64{1, 8}

// LCBench's tasks, and the seeds and trials of each.
const (
	lcbenchTasks  = 34
	lcbenchSeeds  = 20
	lcbenchTrials = 100
)

// chooser chooses the next points after the accuracies of those before.
type chooser func(accuracies []float64) []sweep.Parameters

// search returns the best accuracy after each trial.
func (s *surrogate) search(task string, choose chooser) (best []float64) {
	var last []float64
	for len(best) < lcbenchTrials {
		points := choose(last)
		last = nil
		for _, p := range points {
			last = append(last, s.accuracy(task, p))
			largest := last[len(last)-1]
			if n := len(best); n > 0 {
				largest = max(largest, best[n-1])
			}
			best = append(best, largest)
		}
	}
	return best
}

// atRandom chooses all points at once.
func atRandom(t testing.TB, seed int64) chooser {
	grid, err := sweep.NewGrid(lcbenchSpec(lcbenchTrials, seed))
	if err != nil {
		t.Fatal(err)
	}
	return func([]float64) (points []sweep.Parameters) {
		for _, p := range grid.All(0) {
			points = append(points, p)
		}
		return points
	}
}

// byTPE chooses generations of a size.
func byTPE(t testing.TB, seed, batch int64) chooser {
	spec := lcbenchSpec(lcbenchTrials, seed)
	spec.Policies = []sweep.Policy{Of(&Bayes{Batch: batch})}
	_, policies, err := Open(&sweep.Submission{Spec: *spec})
	if err != nil {
		t.Fatal(err)
	}
	var trials []Trial
	var points []Point
	return func(accuracies []float64) (next []sweep.Parameters) {
		for i, p := range points {
			trials = append(trials, Trial{Parameters: p.Parameters, Value: -accuracies[i]})
		}
		step, err := policies[0].Step(t.Context(), Observations{Trials: trials, Written: int64(len(trials))})
		if err != nil {
			t.Fatal(err)
		}
		points = step.Next
		for _, p := range points {
			next = append(next, p.Parameters)
		}
		return next
	}
}

// optuna is a Python process with samplers of Optuna.
type optuna struct {
	testing.TB
	in  io.Writer
	out *bufio.Scanner
}

// openOptuna starts Optuna; nil without it.
func openOptuna(t testing.TB) *optuna {
	cmd := exec.Command("python3", "testdata/optuna_search.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Logf("left out: no python3: %v", err)
		return nil
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // it may have failed at its start
	})
	o := &optuna{t, in, bufio.NewScanner(out)}
	if !o.out.Scan() {
		t.Log("left out: python3 has no Optuna")
		return nil
	}
	fmt.Println("lcbench: Optuna", o.out.Text())
	return o
}

// ask sends a request and returns the points that are the answer.
func (o *optuna) ask(request any) (points []sweep.Parameters) {
	line, err := json.Marshal(request)
	if err != nil {
		o.Fatal(err)
	}
	if _, err := o.in.Write(append(line, '\n')); err != nil {
		o.Fatal(err)
	}
	if !o.out.Scan() {
		o.Fatal("Optuna has ended")
	}
	if err := json.Unmarshal(o.out.Bytes(), &points); err != nil {
		o.Fatal(err)
	}
	return points
}

// search chooses points in batches of a size.
func (o *optuna) search(seed, batch int64) chooser {
	return func(accuracies []float64) []sweep.Parameters {
		request := map[string]any{"batch": batch, "told": accuracies}
		if accuracies == nil {
			request["seed"] = seed
		}
		return o.ask(request)
	}
}

// BenchmarkLCBench compares searches on all tasks: random, this package's, and Optuna's if python3 has it. It prints
// tables of the normalised regret, which is 0 at the best accuracy that any search found on a task and
// 1 at the median of random points, and of Wilcoxon's test over the tasks. With SWEEP_LCBENCH=FILE it writes the mean regret
// after each trial there, as CSV.
func BenchmarkLCBench(b *testing.B) {
	s := openSurrogate(b)
	tasks := slices.DeleteFunc(slices.Sorted(maps.Keys(s.tasks)), func(task string) bool {
		return task == "#na#" || task == "167083" // no task of the space
	})
	if len(tasks) != lcbenchTasks {
		b.Fatalf("%d tasks", len(tasks))
	}
	peer := openOptuna(b)
	for range b.N {
		searches := map[string]func(seed int64) chooser{"random": func(seed int64) chooser { return atRandom(b, seed) }}
		for _, batch := range batches {
			searches[fmt.Sprint("bayes, batch ", batch)] = func(seed int64) chooser { return byTPE(b, seed, batch) }
			if peer != nil {
				searches[fmt.Sprint("Optuna, batch ", batch)] = func(seed int64) chooser { return peer.search(seed, batch) }
			}
		}
		regret := map[string][][]float64{} // by search and task, after each trial
		for _, task := range tasks {
			best := map[string][][]float64{}
			for name, search := range searches {
				for seed := range int64(lcbenchSeeds) {
					best[name] = append(best[name], s.search(task, search(seed)))
				}
			}
			for name, mean := range s.regret(b, task, best) {
				regret[name] = append(regret[name], mean)
			}
		}
		printRegret(b, regret)
	}
}

// regret returns the mean normalised regret of searches on a task after each trial, over the seeds.
func (s *surrogate) regret(t testing.TB, task string, best map[string][][]float64) map[string][]float64 {
	var random []float64
	for seed := range int64(10) {
		for _, p := range atRandom(t, 1000+seed)(nil) {
			random = append(random, s.accuracy(task, p))
		}
	}
	slices.Sort(random)
	median, largest := random[len(random)/2], random[len(random)-1]
	for _, runs := range best {
		for _, run := range runs {
			largest = max(largest, run[len(run)-1])
		}
	}
	means := map[string][]float64{}
	for name, runs := range best {
		means[name] = make([]float64, lcbenchTrials)
		for _, run := range runs {
			for i := range means[name] {
				means[name][i] += (largest - run[i]) / (largest - median) / float64(len(runs))
			}
		}
	}
	return means
}

// printRegret prints the tables, and writes the file.
func printRegret(b *testing.B, regret map[string][][]float64) {
	names := slices.Sorted(maps.Keys(regret))
	after := func(name string, trials int) (values []float64) {
		for _, task := range regret[name] {
			values = append(values, task[trials-1])
		}
		return values
	}
	fmt.Println("\n| normalised regret after | 25 | 50 | 100 |\n| --- | --- | --- | --- |")
	for _, name := range names {
		fmt.Printf("| %s | %.3f | %.3f | %.3f |\n", name, mean(after(name, 25)), mean(after(name, 50)), mean(after(name, 100)))
	}
	fmt.Println("\n| Wilcoxon, p | tasks won | 25 | 50 | 100 |\n| --- | --- | --- | --- | --- |")
	for _, batch := range batches {
		ours, theirs := fmt.Sprint("bayes, batch ", batch), fmt.Sprint("Optuna, batch ", batch)
		if regret[theirs] == nil {
			continue
		}
		won := 0
		for i, value := range after(ours, 100) {
			if value < after(theirs, 100)[i] {
				won++
			}
		}
		fmt.Printf("| batch %d | %d of %d |", batch, won, len(regret[ours]))
		for _, trials := range []int{25, 50, 100} {
			r := statistics.Wilcoxon(after(ours, trials), after(theirs, trials), statistics.Pratt)
			fmt.Printf(" %.3f |", r.TwoSided)
		}
		fmt.Println()
	}
	path := os.Getenv("SWEEP_LCBENCH")
	if path == "" {
		return
	}
	text := "search,trials,regret\n"
	for _, name := range names {
		for i := range lcbenchTrials {
			text += fmt.Sprintf("%q,%d,%.5f\n", name, i+1, mean(after(name, i+1)))
		}
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}
