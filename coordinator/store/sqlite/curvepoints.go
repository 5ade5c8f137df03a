package sqlite

import (
	"errors"
	"fmt"
	"math"

	"modernc.org/sqlite/vtab"

	"sweep/sweep"
)

// curvePoints is the function behind the view curves, curve_points(step_array,
// value_array): a row (step, value) for each point of a stored curve, decoded
// without a detour over JSON. A value that is not a number is NULL.
var curvePoints = &function{
	name:      "curve_points",
	columns:   []string{"step INTEGER", "value REAL"},
	arguments: []string{"step_array", "value_array"},
	rows:      1000,
	call:      decodePoints,
}

type points struct {
	steps  []int64
	values []float32
}

func decodePoints(args []vtab.Value) (answer, error) {
	if args[0] == nil || args[1] == nil {
		return &points{}, nil
	}
	encodedSteps, ok := args[0].([]byte)
	encodedValues, ok2 := args[1].([]byte)
	if !ok || !ok2 {
		return nil, errors.New("the arguments must be the blobs of curve_arrays")
	}
	steps, err := sweep.DecodeSteps(encodedSteps)
	if err != nil {
		return nil, err
	}
	values, err := sweep.DecodeValues(encodedValues)
	if err == nil && len(steps) != len(values) {
		err = fmt.Errorf("%d steps but %d values", len(steps), len(values))
	}
	return &points{steps, values}, err
}

func (p *points) count() int { return len(p.steps) }

func (p *points) value(row, column int) vtab.Value {
	if column == 0 {
		return p.steps[row]
	}
	if v := float64(p.values[row]); !math.IsNaN(v) {
		return v
	}
	return nil
}
