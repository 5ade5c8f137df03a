package sweep

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestOmit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		count := 1 + random.Int64N(300)
		spec := Spec{Axes: []Axis{{[]AxisParameter{{"x", Values{Range: &Range{Step: 1, Count: count, Integer: true}}}}}}}
		part := random.Float64()
		omitted := make([]bool, count)
		var want []Parameters
		for i := range omitted {
			if omitted[i] = random.Float64() < part && len(omitted) > 1; !omitted[i] {
				want = append(want, Parameters{"x": int64(i)})
			}
		}
		var err error
		if spec.Omit, err = EncodeOmitted(count, func(i int64) bool { return omitted[i] }); err != nil {
			t.Fatal(err)
		}
		grid, err := NewGrid(&spec)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		var got []Parameters
		for i, point := range grid.All(0) {
			if at, err := grid.At(i); err != nil || !reflect.DeepEqual(at, point) {
				t.Fatalf("round %d: point %d is %v and %v, %v", round, i, point, at, err)
			}
			got = append(got, point)
		}
		if !reflect.DeepEqual(got, want) || grid.Count() != int64(len(want)) || grid.Known() != grid.Count() {
			t.Fatalf("round %d: %v, want %v", round, got, want)
		}
	}
}

// Points that are left out of another grid, or no such list at all, are an error.
func TestOmitOfAnother(t *testing.T) {
	spec := Spec{Axes: []Axis{{[]AxisParameter{{"x", Values{List: []any{int64(1), int64(2)}}}}}}}
	ten, _ := EncodeOmitted(10, func(i int64) bool { return i > 3 })
	for _, text := range [][]byte{ten, []byte("x"), {0xff, 0xff}, {3, 0}} {
		spec.Omit = text
		if grid, err := NewGrid(&spec); err == nil {
			t.Errorf("%x: %d points", text, grid.Count())
		}
	}
}
