package sweep_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"sweep/sweep"
)

// curveOf records values at steps 1, 2, … in batches of the given sizes.
func curveOf(limit int, values []float32, sizes func() int) sweep.Curve {
	r := sweep.NewRecorder(limit)
	for i := 0; i < len(values); {
		n := min(max(sizes(), 1), len(values)-i)
		batch := sweep.Curve{Metric: "m"}
		for k := i; k < i+n; k++ {
			batch.Steps, batch.Values = append(batch.Steps, int64(k+1)), append(batch.Values, values[k])
		}
		r.Add([]sweep.Curve{batch})
		i += n
	}
	return r.Curves()[0]
}

// bits make curves comparable that have values which are no numbers.
func bits(c sweep.Curve) []byte {
	return append(sweep.EncodeSteps(c.Steps), sweep.EncodeValues(c.Values)...)
}

// Whatever a curve looks like: it stays within its limit, every point is one of its
// own in order, its smallest, largest and last are there, and it does not depend on
// how its points came.
func TestRecorderKeepsExtremes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	nan := float32(math.NaN())
	shapes := map[string]func(i int) float32{
		"noise":       func(int) float32 { return random.Float32() },
		"falling":     func(i int) float32 { return 1 / float32(i+1) },
		"constant":    func(int) float32 { return 3 },
		"one spike":   func(i int) float32 { return map[bool]float32{true: 100, false: 1}[i == 77] },
		"no numbers":  func(int) float32 { return nan },
		"some are no": func(i int) float32 { return map[bool]float32{true: nan, false: float32(i % 7)}[i%50 == 3] },
		"infinite":    func(i int) float32 { return []float32{float32(math.Inf(1)), 0, float32(math.Inf(-1))}[i%3] },
	}
	for name, shape := range shapes {
		for _, limit := range []int{0, 2, 3, 4, 7, 16, 100} {
			for _, length := range []int{1, 2, 3, 5, 16, 17, 64, 99, 100, 101, 1000, 3001} {
				values := make([]float32, length)
				for i := range values {
					values[i] = shape(i)
				}
				c := curveOf(limit, values, func() int { return 1 })
				most := max(limit, 2)
				if length > most {
					most++
				}
				if len(c.Steps) > most || len(c.Steps) != len(c.Values) {
					t.Fatalf("%s: %d of %d points with a limit of %d", name, len(c.Steps), length, limit)
				}
				if length <= max(limit, 2) && len(c.Steps) != length {
					t.Fatalf("%s: %d of %d points, which are within the limit of %d", name, len(c.Steps), length, limit)
				}
				for i, step := range c.Steps {
					if i > 0 && step <= c.Steps[i-1] ||
						math.Float32bits(c.Values[i]) != math.Float32bits(values[step-1]) {
						t.Fatalf("%s: point %d is %v at step %d", name, i, c.Values[i], step)
					}
				}
				if c.Steps[len(c.Steps)-1] != int64(length) {
					t.Fatalf("%s: the last of %d points is lost: %v", name, length, c.Steps)
				}
				number := func(v float32) bool { return v == v }
				numbers := slices.DeleteFunc(slices.Clone(values), func(v float32) bool { return !number(v) })
				if len(numbers) == len(values) {
					if slices.Max(c.Values) != slices.Max(values) || slices.Min(c.Values) != slices.Min(values) {
						t.Fatalf("%s: limit %d: %d points lie between %v and %v, kept are %v", name, limit, length,
							slices.Min(values), slices.Max(values), c.Values)
					}
				} else if !slices.ContainsFunc(c.Values, func(v float32) bool { return !number(v) }) {
					t.Fatalf("%s: no value that is no number is kept", name)
				}
				batched := curveOf(limit, values, func() int { return random.IntN(40) })
				if !slices.Equal(bits(c), bits(batched)) {
					t.Fatalf("%s: limit %d, length %d: batches change the curve", name, limit, length)
				}
			}
		}
	}
}

// What News tells, put together as a store does, is the curve at each moment.
func TestRecorderNews(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	r := sweep.NewRecorder(20)
	var steps []int64
	var values []float32
	sent := 0
	for i := range 2000 {
		r.Add([]sweep.Curve{{Metric: "m", Steps: []int64{int64(i)}, Values: []float32{random.Float32()}}})
		if random.IntN(10) > 0 {
			continue
		}
		news := r.News()[0]
		sent += len(news.Steps)
		steps, values = append(steps[:news.Offset], news.Steps...), append(values[:news.Offset], news.Values...)
		whole := r.Curves()[0]
		if !reflect.DeepEqual(steps, whole.Steps) || !reflect.DeepEqual(values, whole.Values) {
			t.Fatalf("after %d points: %v, want %v", i+1, steps, whole.Steps)
		}
		if random.IntN(20) == 0 {
			r.Forget()
		}
	}
	if sent > 2000 {
		t.Errorf("%d points were sent of 2000", sent)
	}
}

// A recorder behind another one, as a worker's behind a trainer's, has the same curves
// however often they are told, at any moment, and tells them on; an interruption at any
// point changes nothing.
func TestRecorderBehindAnother(t *testing.T) {
	for _, limit := range []int{2, 5, 20, 1000} {
		random := rand.New(rand.NewPCG(5, uint64(limit)))
		plain, first, second := sweep.NewRecorder(limit), sweep.NewRecorder(limit), sweep.NewRecorder(limit)
		var stored []sweep.Curve
		for i := range 3000 {
			for _, metric := range []string{"a", "b"} {
				if metric == "b" && i%3 > 0 {
					continue
				}
				value := random.Float32()
				plain.Add([]sweep.Curve{{Metric: metric, Steps: []int64{int64(i)}, Values: []float32{value}}})
				first.AddPoint(metric, int64(i), value)
			}
			if random.IntN(100) == 0 { // the trainer is killed and resumes
				data, err := first.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				first, second = &sweep.Recorder{}, sweep.NewRecorder(limit)
				if err := first.UnmarshalBinary(data); err != nil {
					t.Fatal(err)
				}
				stored = nil
			}
			if random.IntN(7) > 0 {
				continue
			}
			second.Add(first.News())
			if want := plain.Curves(); !reflect.DeepEqual(second.Curves(), want) {
				t.Fatalf("limit %d, after %d points: %v, want %v", limit, i+1, second.Curves(), want)
			}
			for k, c := range second.News() {
				if k == len(stored) {
					stored = append(stored, sweep.Curve{Metric: c.Metric})
				}
				s := &stored[k]
				s.Steps, s.Values = append(s.Steps[:c.Offset:c.Offset], c.Steps...),
					append(s.Values[:c.Offset:c.Offset], c.Values...)
			}
			if want := plain.Curves(); !reflect.DeepEqual(stored, want) {
				t.Fatalf("limit %d, after %d points: told %v, want %v", limit, i+1, stored, want)
			}
		}
	}
}

// A trainer that thins less than it should is thinned, and one that sends more points
// after thinned ones loses none that matter.
func TestRecorderOfBadTrainer(t *testing.T) {
	r := sweep.NewRecorder(10)
	long := curve(500)
	long.Replaces = true
	r.Add([]sweep.Curve{long})
	plain := sweep.NewRecorder(10)
	plain.Add([]sweep.Curve{curve(500)})
	if got, want := r.Curves(), plain.Curves(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	r = sweep.NewRecorder(10)
	short := curve(5)
	short.Replaces, short.Offset = true, 99
	r.Add([]sweep.Curve{short, {Metric: "m", Steps: []int64{6}, Values: []float32{6}}})
	if got := r.Curves()[0].Steps; !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("steps %v", got)
	}
	for _, data := range [][]byte{nil, []byte("x")} {
		if err := new(sweep.Recorder).UnmarshalBinary(data); err == nil {
			t.Errorf("%q is read", data)
		}
	}
}

// curve has so many points.
func curve(points int) sweep.Curve {
	c := sweep.Curve{Metric: "m"}
	for i := range points {
		c.Steps, c.Values = append(c.Steps, int64(i+1)), append(c.Values, float32(i%13))
	}
	return c
}

// The rule in figures: runs of four keep their extremes.
func TestRecorderExample(t *testing.T) {
	c := curveOf(8, []float32{5, 9, 1, 2, 7, 7, 7, 7, 3, 4}, func() int { return 3 })
	if want := []int64{2, 3, 5, 9, 10}; !reflect.DeepEqual(c.Steps, want) {
		t.Errorf("steps %v, want %v", c.Steps, want)
	}
}

func BenchmarkRecorder(b *testing.B) {
	r := sweep.NewRecorder(1000)
	c := []sweep.Curve{{Metric: "m", Steps: []int64{0}, Values: []float32{0}}}
	for i := range b.N {
		c[0].Steps[0], c[0].Values[0] = int64(i), float32(i%97)
		r.Add(c)
	}
}
