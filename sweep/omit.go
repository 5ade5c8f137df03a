package sweep

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
)

// EncodeOmitted returns, for Spec.Omit, which of count points are left out: the lengths of the runs of points that
// are kept and left out in turn, compressed. It is empty if none is left out.
func EncodeOmitted(count int64, omitted func(point int64) bool) ([]byte, error) {
	var text bytes.Buffer
	writer, err := flate.NewWriter(&text, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	run, out, found := int64(0), false, false
	for point := range count {
		if omitted(point) != out {
			if _, err := writer.Write(binary.AppendUvarint(nil, uint64(run))); err != nil {
				return nil, err
			}
			run, out, found = 0, !out, true
		}
		run++
	}
	if !found {
		return nil, nil
	}
	if _, err = writer.Write(binary.AppendUvarint(nil, uint64(run))); err == nil {
		err = writer.Close()
	}
	return text.Bytes(), err
}

// omission is a run of points that are left out: kept points come before it, and length are left out with it and all
// earlier ones.
type omission struct{ kept, length int64 }

// omit leaves points out, as Spec.Omit says.
func (g *Grid) omit(text []byte) error {
	bad := func(err error) error { return fmt.Errorf("the points of the grid that are left out: %w", err) }
	runs, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(text)), 1<<26))
	if err != nil {
		return bad(err)
	}
	point, kept, total := int64(0), int64(0), int64(0)
	for out := false; len(runs) > 0; out = !out {
		run, n := binary.Uvarint(runs)
		if n <= 0 || run > uint64(g.count-point) {
			return bad(errors.New("they are not those of this grid"))
		}
		runs, point = runs[n:], point+int64(run)
		if !out {
			kept += int64(run)
			continue
		}
		total += int64(run)
		g.omitted = append(g.omitted, omission{kept, total})
	}
	if point != g.count {
		return bad(errors.New("they are not those of this grid"))
	}
	g.count, g.known = kept, kept
	return nil
}

// ordinal is the number, among all points, of one that is not left out.
func (g *Grid) ordinal(index int64) int64 {
	before := sort.Search(len(g.omitted), func(i int) bool { return g.omitted[i].kept > index })
	if before == 0 {
		return index
	}
	return index + g.omitted[before-1].length
}
