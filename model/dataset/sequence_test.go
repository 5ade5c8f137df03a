package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sweep/model/random"
)

// numberedPart returns a part in which every value tells where it stands, as far as its type can.
func numberedPart(n, length int, bytes bool) *Part {
	p := &Part{N: n, Labels: make([]int, n)}
	if bytes {
		p.Bytes = make([]uint8, n*length)
		for i := range p.Bytes {
			p.Bytes[i] = uint8(i*7 + i/251)
		}
		return p
	}
	p.Values = make([]float32, n*length)
	for i := range p.Values {
		p.Values[i] = float32(i)
	}
	return p
}

// value is the definition: the value of series r at place i.
func (p *Part) value(r, i int) float32 {
	if p.Bytes != nil {
		return float32(p.Bytes[r*len(p.Bytes)/p.N+i]) / 255
	}
	return p.Values[r*len(p.Values)/p.N+i]
}

func TestGather(t *testing.T) {
	place := map[Order]func(step, q, steps, n int) int{
		OrderPieces:         func(t, q, _, n int) int { return t*n + q },
		OrderStrided:        func(t, q, steps, _ int) int { return q*steps + t },
		OrderReversed:       func(t, q, steps, n int) int { return steps*n - 1 - (t*n + q) },
		OrderPiecesReversed: func(t, q, steps, n int) int { return (steps-1-t)*n + q },
	}
	const n = 41
	for _, order := range Orders {
		for inputSize := 1; inputSize <= 19; inputSize++ {
			for _, steps := range []int{1, 2, 7, 24} {
				for _, bytes := range []bool{false, true} {
					p := numberedPart(n, steps*inputSize, bytes)
					s, err := Arrange(p, order, steps, inputSize)
					if err != nil {
						t.Fatal(err)
					}
					for _, batch := range []int{0, 1, 2, 7, 8, 9, 16, 17, 33, n} {
						rows := random.New(uint64(batch), 9).Permutation(n)[:batch]
						const guard = -12345
						dst := slices.Repeat([]float32{guard}, steps*inputSize*batch+8)
						s.Gather(dst, rows)
						for step := range steps {
							for b, r := range rows {
								for q := range inputSize {
									got := dst[(step*batch+b)*inputSize+q]
									want := p.value(r, place[order](step, q, steps, inputSize))
									if got != want {
										t.Fatalf("%s, %d steps of %d, batch %d, bytes %v: step %d, row %d, value %d: got %v, want %v",
											order, steps, inputSize, batch, bytes, step, r, q, got, want)
									}
								}
							}
						}
						for _, v := range dst[steps*inputSize*batch:] {
							if v != guard {
								t.Fatalf("%s, %d steps of %d, batch %d: wrote beyond the minibatch", order, steps,
									inputSize, batch)
							}
						}
					}
				}
			}
		}
	}
}

// A row may occur more than once in a minibatch.
func TestGatherRepeatedRows(t *testing.T) {
	p := numberedPart(3, 6, false)
	s, err := Arrange(p, OrderPieces, 6, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows := slices.Repeat([]int{2, 2, 0}, 4)
	dst := make([]float32, 6*len(rows))
	s.Gather(dst, rows)
	for step := range 6 {
		for b, r := range rows {
			if got, want := dst[step*len(rows)+b], p.value(r, step); got != want {
				t.Fatalf("step %d, place %d: got %v, want %v", step, b, got, want)
			}
		}
	}
}

func TestGatherAllocatesNothing(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		for _, inputSize := range []int{1, 8, 12} {
			p := numberedPart(64, 96, bytes)
			s, err := Arrange(p, OrderStrided, 96/inputSize, inputSize)
			if err != nil {
				t.Fatal(err)
			}
			rows := random.New(3, 3).Permutation(64)[:20]
			dst := make([]float32, 96*20)
			if n := testing.AllocsPerRun(100, func() { s.Gather(dst, rows) }); n != 0 {
				t.Errorf("bytes %v, input size %d: %v allocations a minibatch", bytes, inputSize, n)
			}
		}
	}
}

func TestGatherPanics(t *testing.T) {
	p := numberedPart(4, 6, false)
	s, err := Arrange(p, OrderPieces, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(){
		"short":    func() { s.Gather(make([]float32, 11), []int{0, 1}) },
		"too high": func() { s.Gather(make([]float32, 12), []int{0, 4}) },
		"negative": func() { s.Gather(make([]float32, 12), []int{0, -1}) },
	} {
		func() {
			defer func() {
				if message, ok := recover().(string); !ok || !strings.HasPrefix(message, "dataset: Gather: ") {
					t.Errorf("%s: panicked with %v", name, message)
				}
			}()
			call()
		}()
	}
}

func TestArrangeRefuses(t *testing.T) {
	p := numberedPart(2, 12, false)
	for _, c := range []struct {
		order      Order
		steps, n   int
		wantSubstr string
	}{
		{OrderPieces, 5, 2, "5 steps of 2 values do not make up series of length 12"},
		{OrderPieces, 12, 2, "12 steps of 2 values do not make up series of length 12"},
		{OrderPieces, 0, 0, "0 steps of 0 values"},
		{OrderPieces, -3, -4, "-3 steps of -4 values"},
		{OrderPieces, 1 << 62, 4, "do not make up"},
		{"backwards", 3, 4, `input order "backwards": want pieces, strided, reversed, pieces-reversed`},
	} {
		t.Run(fmt.Sprint(c.order, c.steps, c.n), func(t *testing.T) {
			_, err := Arrange(p, c.order, c.steps, c.n)
			if err == nil || !strings.Contains(err.Error(), c.wantSubstr) {
				t.Errorf("got %v, want %s", err, c.wantSubstr)
			}
		})
	}
	// The paper's order needs no copy.
	s, err := Arrange(p, OrderPieces, 3, 4)
	if err != nil || &s.values[0] != &p.Values[0] {
		t.Errorf("pieces were copied (%v)", err)
	}
}
