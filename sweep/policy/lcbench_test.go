package policy

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sweep/sweep"
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

// search returns the best accuracy after each trial, with a batch of 0 of a random search.
func (s *surrogate) search(t testing.TB, task string, spec *sweep.Spec, batch int64) (best []float64) {
	note := func(p sweep.Parameters) float64 {
		value := s.accuracy(task, p)
		if n := len(best); n > 0 {
			best = append(best, max(value, best[n-1]))
		} else {
			best = append(best, value)
		}
		return value
	}
	if batch == 0 {
		grid, err := sweep.NewGrid(spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range grid.All(0) {
			note(p)
		}
		return best
	}
	spec.Random.Bayes = &sweep.Bayes{Batch: batch}
	tpe, err := NewTPE(spec, &sweep.Description{})
	if err != nil {
		t.Fatal(err)
	}
	var trials []Trial
	for {
		next, err := tpe.Next(t.Context(), trials)
		if err != nil {
			t.Fatal(err)
		}
		if len(next) == 0 {
			return best
		}
		for _, p := range next {
			trials = append(trials, Trial{Parameters: p.Parameters, Value: -note(p.Parameters)})
		}
	}
}

// BenchmarkLCBench prints the mean best accuracy after 25, 50 and 100 trials: of each task, method
// and seed a line "task method seed best25 best50 best100".
func BenchmarkLCBench(b *testing.B) {
	s := openSurrogate(b)
	for range b.N {
		for _, task := range []string{"167168", "189906", "126026", "3945", "7593", "34539"} {
			for seed := range int64(5) {
				for name, batch := range map[string]int64{"random": 0, "tpe1": 1, "tpe8": 8} {
					best := s.search(b, task, lcbenchSpec(100, seed), batch)
					fmt.Println("lcbench", task, name, seed, best[24], best[49], best[99])
				}
			}
		}
	}
}
