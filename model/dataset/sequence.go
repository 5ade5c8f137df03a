package dataset

import (
	"cmp"
	"fmt"
	"strings"
)

// Order is how a series s of length L = T · n becomes T steps x of n values.
type Order string

const (
	// OrderPieces cuts the series into pieces, as the paper does: x_t[q] = s[t·n + q].
	OrderPieces Order = "pieces"
	// OrderStrided takes values that lie T apart: x_t[q] = s[q·T + t].
	OrderStrided Order = "strided"
	// OrderReversed cuts the reversed series into pieces: x_t[q] = s[L−1 − (t·n + q)].
	OrderReversed Order = "reversed"
	// OrderPiecesReversed takes the pieces last one first, each as it stands: x_t[q] = s[(T−1−t)·n + q].
	OrderPiecesReversed Order = "pieces-reversed"
)

// Orders are all orders.
var Orders = []Order{OrderPieces, OrderStrided, OrderReversed, OrderPiecesReversed}

// ParseOrder returns the order of that name.
func ParseOrder(name string) (Order, error) {
	var names []string
	for _, o := range Orders {
		if string(o) == name {
			return o, nil
		}
		names = append(names, string(o))
	}
	return "", fmt.Errorf("input order %q: want %s", name, strings.Join(names, ", "))
}

// Sequences are the series of a part, each cut into steps. They share the part's memory where the order allows it and
// must not be changed.
type Sequences struct {
	N, Steps, InputSize int

	lengths []int // steps of each sequence; nil where all have Steps

	values []float32     // [N][Steps][InputSize], or nil
	bytes  []uint8       // the same
	levels *[256]float32 // what a byte stands for
}

// Arrange cuts the series of a part into steps · inputSize values in the given order. It is done once a trial, so that
// a minibatch is a plain copy. Where lengths differ each series is arranged in the steps that it fills, the last of
// which may end with zeros, and zeros follow.
func Arrange(part *Part, order Order, steps, inputSize int) (*Sequences, error) {
	if _, err := ParseOrder(string(order)); err != nil {
		return nil, err
	}
	s := &Sequences{N: part.N, Steps: steps, InputSize: inputSize, values: part.Values, bytes: part.Bytes,
		levels: cmp.Or(part.Levels, &unitInterval)}
	if part.Lengths != nil && (steps > 1 || len(part.Values) != part.N*inputSize) {
		return s, s.arrangeUneven(part, order)
	}
	// Without series there is no length to compare with.
	if length := (len(part.Values) + len(part.Bytes)) / max(part.N, 1); steps < 1 || inputSize < 1 || part.N > 0 &&
		(length%steps != 0 || length/steps != inputSize) {
		return nil, fmt.Errorf("%d steps of %d values do not make up series of length %d", steps, inputSize, length)
	}
	if order != OrderPieces {
		s.values = rearranged(s.values, order, steps, inputSize)
		s.bytes = rearranged(s.bytes, order, steps, inputSize)
	}
	return s, nil
}

// StepsOf returns the steps of a sequence.
func (s *Sequences) StepsOf(row int) int {
	if s.lengths == nil {
		return s.Steps
	}
	return s.lengths[row]
}

// arrangeUneven arranges series of different lengths.
func (s *Sequences) arrangeUneven(part *Part, order Order) error {
	length, size := len(part.Values)/max(part.N, 1), s.Steps*s.InputSize
	if s.Steps != (length+s.InputSize-1)/s.InputSize {
		return fmt.Errorf("%d steps of %d values do not make up series of up to %d", s.Steps, s.InputSize, length)
	}
	s.values = make([]float32, part.N*size)
	for i, own := range part.Lengths {
		values := part.Values[i*length:][:own]
		steps := (len(values) + s.InputSize - 1) / s.InputSize
		s.lengths = append(s.lengths, steps)
		copy(s.values[i*size:], values)
		if order != OrderPieces {
			filled := s.values[i*size:][:steps*s.InputSize]
			copy(filled, rearranged(filled, order, steps, s.InputSize))
		}
	}
	return nil
}

// rearranged returns the series of source in another order than OrderPieces.
func rearranged[E float32 | uint8](source []E, order Order, steps, inputSize int) []E {
	if source == nil {
		return nil
	}
	length := steps * inputSize
	result := make([]E, len(source))
	for start := 0; start < len(source); start += length {
		from, to := source[start:start+length], result[start:start+length]
		switch order {
		case OrderStrided:
			for t := range steps {
				for q := range inputSize {
					to[t*inputSize+q] = from[q*steps+t]
				}
			}
		case OrderReversed:
			for p, v := range from {
				to[length-1-p] = v
			}
		case OrderPiecesReversed:
			for t := range steps {
				copy(to[t*inputSize:(t+1)*inputSize], from[(steps-1-t)*inputSize:])
			}
		}
	}
	return result
}

// Gather copies the sequences with the given row numbers to dst, step by step:
//
//	dst[t][b][q] = x of sequence rows[b] at step t, value q
//
// dst has the shape [Steps][len(rows)][InputSize]; bytes become their levels. It allocates nothing. It panics if dst is
// too short or a row number is out of range.
func (s *Sequences) Gather(dst []float32, rows []int) { s.GatherSteps(dst, rows, s.Steps) }

// GatherSteps is Gather of so many first steps, which the longest of sequences of different lengths may have.
func (s *Sequences) GatherSteps(dst []float32, rows []int, steps int) {
	length := steps * s.InputSize
	if len(dst) < length*len(rows) {
		panic("dataset: Gather: dst is shorter than steps · rows · input size")
	}
	for _, r := range rows {
		if uint(r) >= uint(s.N) {
			panic("dataset: Gather: row number out of range")
		}
	}
	dst = dst[:length*len(rows)]
	switch {
	case s.bytes != nil:
		gatherBytes(dst, s.bytes, s.levels, rows, s.Steps, s.InputSize)
	case s.InputSize == 1 && s.lengths == nil:
		gatherSingles(dst, s.values, rows, s.Steps)
	default:
		gatherVectors(dst, s.values, rows, steps, s.Steps, s.InputSize)
	}
}

// The loops below work on blocks of rows: within a block they read a few streams, each in order, and write whole
// stretches of dst. Row by row over a wide minibatch every write would hit another cache line, and often the same set
// of the cache; step by step the reads would.

// gatherVectors: dst[t][b][q] = values[rows[b]][t][q], of so many of all steps
func gatherVectors(dst, values []float32, rows []int, steps, all, n int) {
	const block = 16
	width := len(rows) * n
	length := all * n
	for first := 0; first < len(rows); first += block {
		group := rows[first:min(first+block, len(rows))]
		for t := range steps {
			out := dst[t*width+first*n:][:len(group)*n]
			for _, r := range group {
				in := values[r*length+t*n:][:n]
				to := out[:n]
				// Vectors are mostly short: copying four at a time is faster than calling copy.
				for len(in) >= 4 && len(to) >= 4 {
					*(*[4]float32)(to) = *(*[4]float32)(in)
					in, to = in[4:], to[4:]
				}
				for q := range min(len(in), len(to)) {
					to[q] = in[q]
				}
				out = out[n:]
			}
		}
	}
}

// gatherSingles: dst[t][b] = values[rows[b]][t], a transposition
func gatherSingles(dst, values []float32, rows []int, steps int) {
	width := len(rows)
	b := 0
	for ; b+8 <= width; b += 8 {
		group := (*[8]int)(rows[b:])
		s0 := values[group[0]*steps:][:steps]
		s1 := values[group[1]*steps:][:steps]
		s2 := values[group[2]*steps:][:steps]
		s3 := values[group[3]*steps:][:steps]
		s4 := values[group[4]*steps:][:steps]
		s5 := values[group[5]*steps:][:steps]
		s6 := values[group[6]*steps:][:steps]
		s7 := values[group[7]*steps:][:steps]
		for t := range steps {
			out := (*[8]float32)(dst[t*width+b:])
			out[0], out[1], out[2], out[3] = s0[t], s1[t], s2[t], s3[t]
			out[4], out[5], out[6], out[7] = s4[t], s5[t], s6[t], s7[t]
		}
	}
	for ; b < width; b++ {
		for t, v := range values[rows[b]*steps:][:steps] {
			dst[t*width+b] = v
		}
	}
}

// unitInterval[b] = b/255
var unitInterval = func() (t [256]float32) {
	for b := range t {
		t[b] = float32(b) / 255
	}
	return t
}()

// gatherBytes: dst[t][b][q] = levels[values[rows[b]][t][q]]
func gatherBytes(dst []float32, values []uint8, levels *[256]float32, rows []int, steps, n int) {
	const block = 16
	width := len(rows) * n
	length := steps * n
	for first := 0; first < len(rows); first += block {
		group := rows[first:min(first+block, len(rows))]
		for t := range steps {
			out := dst[t*width+first*n:][:len(group)*n]
			for _, r := range group {
				in := values[r*length+t*n:][:n]
				to := out[:len(in)]
				for q, v := range in {
					to[q] = levels[v]
				}
				out = out[n:]
			}
		}
	}
}
