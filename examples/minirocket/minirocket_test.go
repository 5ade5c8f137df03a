package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sweep/model/dataset"
	"sweep/sweep"
	"sweep/worker/trainer"
	"sweep/worker/trainer/trainertest"
)

func TestTrainer(t *testing.T) {
	trainertest.Run(t, func(*testing.T) sweep.Trainer { return rocket{} }, trainertest.Fixture{
		Parameters: sweep.Parameters{"dataset": "generated-cbf", "features": 200},
		Refused:    []sweep.Parameters{{"dataset": "generated-mnist"}, {"dataset": "generated-har-2"}},
	})
}

// train trains a trial that must succeed.
func train(t *testing.T, tr sweep.Trainer, dataDir string, given sweep.Parameters) map[string]float64 {
	t.Helper()
	p, err := description.Resolve(given)
	if err != nil {
		t.Fatal(err)
	}
	request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: p}, DataDir: dataDir, Points: sweep.DefaultPoints}
	result, err := tr.Train(t.Context(), request, &trainertest.Sink{})
	if err != nil {
		t.Fatal(err)
	}
	return result.Summary
}

// The program that the package is built to trains as a worker's trainer.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	name := "minirocket"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	process, err := (&trainer.Launcher{Path: []string{dir}}).Launch(t.Context(), "minirocket")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := process.Close(); err != nil {
			t.Error(err)
		}
	}()
	summary := train(t, process, "", sweep.Parameters{"dataset": "generated-cbf"})
	if got := summary["test_accuracy"]; got < .98 {
		t.Errorf("test accuracy %v, want .98 at least: MiniRocket separates cylinders, bells and funnels", got)
	}
	if got, want := summary["parameter_count"], 3*9997.; got != want {
		t.Errorf("%v weights, want %v: 9,996 features and an intercept for each class", got, want)
	}
}

// whole returns a series of small whole numbers, with which float32 computes exactly.
func whole(random *rand.Rand, length int) []float32 {
	s := make([]float32, length)
	for t := range s {
		s[t] = float32(random.IntN(21) - 10)
	}
	return s
}

// set returns a data set of some series.
func set(series ...[]float32) *dataset.Set {
	s := &dataset.Set{Length: len(series[0]), Train: dataset.Part{N: len(series)}}
	for _, values := range series {
		s.Train.Values = append(s.Train.Values, values...)
	}
	return s
}

// Each feature is the share that a direct convolution counts, with weights that are written down one by one.
func TestTransform(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, length := range []int{9, 10, 24, 80, 131, 637} {
		f := fit(set(whole(random, length), whole(random, length)), 119, random)
		if f.count != 9996 {
			t.Fatalf("length %d: %d features, want 9996", length, f.count)
		}
		x, got := whole(random, length), make([]float64, f.count)
		f.features(x, got)
		at := 0
		for i, d := range f.dilations {
			kernel := 0
			for code := range 1 << taps { // as a binary number from the last tap on: not in the kernels' order
				var weights [taps]float64
				var places []int
				for j := range taps {
					weights[j] = -1
					if code>>j&1 == 1 {
						weights[j] = 2
						places = append(places, j)
					}
				}
				if len(places) != 3 {
					continue
				}
				kernel++
				k := -1
				for number, three := range twos {
					if three == [3]int(places) {
						k = number
					}
				}
				if k < 0 {
					t.Fatalf("no kernel has the weights %v", weights)
				}
				biases := d.biases[k]
				for b, bias := range biases {
					above, counted := 0, 0
					for t := range length {
						inside, sum := true, 0.
						for j := range taps {
							if u := t + (j-4)*d.apart; u < 0 || u >= length {
								inside = false
							} else {
								sum += weights[j] * float64(x[u])
							}
						}
						if !inside && (i+k)%2 == 1 {
							continue
						}
						counted++
						if sum > float64(bias) {
							above++
						}
					}
					if want := float64(above) / float64(counted); got[at+k*len(biases)+b] != want {
						t.Fatalf("length %d, dilation %d, kernel %d, bias %v: %v, want %v", length, d.apart, k, bias,
							got[at+k*len(biases)+b], want)
					}
				}
			}
			if kernel != kernels {
				t.Fatalf("%d kernels, want %d", kernel, kernels)
			}
			at += kernels * len(d.biases[0])
		}
	}
}

// The dilations are those of the paper: a geometric sequence from 1 to where a kernel of nine taps spans the series, each
// whole number once.
func TestDilations(t *testing.T) {
	for length, want := range map[int]string{
		// 2^e is 2 at least for 11 of 32 equal steps to e = log2(23/8): 11/32 and 21/32 of 119, rounded down, and one left.
		9: "[1] [119]", 24: "[1 2] [79 40]", 128: "", 637: "",
	} {
		dilations, counts := spread(length, 119)
		if got := fmt.Sprint(dilations, counts); want != "" && got != want {
			t.Errorf("length %d: %s, want %s", length, got, want)
		}
		sum := 0
		for i, d := range dilations {
			sum += counts[i]
			if 8*d > length-1 || i > 0 && d <= dilations[i-1] {
				t.Errorf("length %d: dilations %v", length, dilations)
			}
		}
		if last := dilations[len(dilations)-1]; sum != 119 || 8*(last+1) <= length-1 {
			t.Errorf("length %d: %d features of a kernel up to dilation %d", length, sum, last)
		}
	}
}

// Biases are quantiles: of the one series that they are taken from, as large a share lies above one as the quantile leaves.
func TestBiases(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const length = 1000
	x := make([]float32, length)
	for t := range x {
		x[t] = float32(random.NormFloat64())
	}
	f := fit(set(x), 119, random)
	got := make([]float64, f.count)
	f.features(x, got)
	feature := 0
	for i, d := range f.dilations {
		for k := range kernels {
			for range d.biases[k] {
				quantile := math.Mod(float64(feature+1)*(1+math.Sqrt(5))/2, 1)
				if (i+k)%2 == 0 && math.Abs(1-quantile-got[feature]) > 1.5/length {
					t.Fatalf("feature %d: %v above the quantile %v", feature, got[feature], quantile)
				}
				feature++
			}
		}
	}
}

// The leave-one-out errors are those of fits without the series, and the weights those of the normal equations.
func TestRidge(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const n, features, classes = 14, 6, 3
	raw := mat.NewDense(n, features, nil)
	labels := make([]int, n)
	for i := range n {
		labels[i] = i % classes
		for j := range features - 1 { // the last is constant
			raw.Set(i, j, random.NormFloat64()*float64(j+1)+float64(labels[i]))
		}
	}
	x := mat.DenseCopyOf(raw)
	c, err := classify(x, labels, classes) // x is normalized now
	if err != nil {
		t.Fatal(err)
	}
	// solve returns weights and intercept of a class, of a fit to the rows without one.
	solve := func(x *mat.Dense, without, class int, penalty float64) *mat.VecDense {
		a, b := mat.NewDense(features+1, features+1, nil), mat.NewVecDense(features+1, nil)
		for i := range n {
			if i == without {
				continue
			}
			row := mat.NewVecDense(features+1, append(mat.Row(nil, i, x), 1))
			a.RankOne(a, 1, row, row)
			if labels[i] == class {
				b.AddVec(b, row)
			}
		}
		for j := range features {
			a.Set(j, j, a.At(j, j)+penalty)
		}
		var w mat.VecDense
		if err := w.SolveVec(a, b); err != nil {
			t.Fatal(err)
		}
		return &w
	}
	predict := func(w *mat.VecDense, x *mat.Dense, i int) float64 {
		return mat.Dot(w, mat.NewVecDense(features+1, append(mat.Row(nil, i, x), 1)))
	}
	smallest, chosen := math.Inf(1), 0.
	for p := range 10 {
		penalty, loss := math.Pow(10, -3+6*float64(p)/9), 0.
		for i := range n {
			for k := range classes {
				e := -predict(solve(x, i, k, penalty), x, i)
				if labels[i] == k {
					e++
				}
				loss += e * e / (n * classes)
			}
		}
		if got := float64(c.losses.Values[p]); math.Abs(got-loss) > 1e-6 {
			t.Errorf("penalty %v: loss %v, want %v", penalty, got, loss)
		}
		if loss < smallest {
			smallest, chosen = loss, penalty
		}
	}
	if c.penalty != chosen || math.Abs(c.loss-smallest) > 1e-12 {
		t.Errorf("penalty %v with loss %v, want %v with %v", c.penalty, c.loss, chosen, smallest)
	}
	for k := range classes {
		w := solve(x, -1, k, chosen)
		for i := range n {
			got := c.intercepts[k] + mat.Dot(mat.NewVecDense(features, c.weights[k]), raw.RowView(i))
			if want := predict(w, x, i); math.Abs(got-want) > 1e-9 {
				t.Errorf("class %d, row %d: %v, want %v", k, i, got, want)
			}
		}
	}
}

// Small sets of the archive have the accuracies of docs/trainers.md, less what a seed makes of them.
func TestArchive(t *testing.T) {
	if testing.Short() {
		t.Skip("left out under -short: it takes seconds")
	}
	dir := os.Getenv("SWEEP_TEST_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(filepath.Join(dir, "ucr")); err != nil {
		t.Skipf("the real data is not there (%v); name its directory in SWEEP_TEST_DATA", err)
	}
	for name, least := range map[string]float64{
		"ArrowHead": .84, "Beef": .8, "Coffee": 1, "DistalPhalanxOutlineCorrect": .82, "ECGFiveDays": .99,
		"FaceFour": .97, "GunPoint": .98, "ItalyPowerDemand": .95,
	} {
		t.Run(name, func(t *testing.T) {
			summary := train(t, rocket{}, dir, sweep.Parameters{"dataset": name})
			t.Logf("test accuracy %.3f", summary["test_accuracy"])
			if got := summary["test_accuracy"]; got < least {
				t.Errorf("test accuracy %v, want %v at least", got, least)
			}
		})
	}
}
