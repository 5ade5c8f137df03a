package main

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"sweep/sweep"
)

// classifier is a ridge regression for each class of 1 for its series and 0 for others. The largest prediction wins.
type classifier struct {
	weights       [][]float64
	intercepts    []float64
	penalty, loss float64     // the penalty with the smallest loss
	losses        sweep.Curve // of all penalties
}

// classify fits a classifier to features x, a row a series, which it overwrites. There are more features than series, so
// it works with K = x·xᵀ = Q·Λ·Qᵀ. With intercept and penalty α the predictions for the training series are H·y with
// H = 1/n + Q·Λ/(Λ+α)·Qᵀ, and the error of series i in a fit to all others is (y − H·y)_i / (1 − H_ii): one decomposition
// gives the leave-one-out errors of all penalties.
func classify(x *mat.Dense, labels []int, classes int) (*classifier, error) {
	means, scales := normalize(x)
	c := &classifier{intercepts: make([]float64, classes), losses: sweep.Curve{Metric: "validation_loss"}}
	y := mat.NewDense(len(labels), classes, nil)
	for i, label := range labels {
		y.Set(i, label, 1)
		c.intercepts[label] += 1 / float64(len(labels)) // the mean of the target
	}
	for i := range labels {
		floats.Sub(y.RawRowView(i), c.intercepts)
	}
	var gram mat.SymDense
	gram.SymOuterK(1, x)
	var eigen mat.EigenSym
	if !eigen.Factorize(&gram, true) {
		return nil, errors.New("the eigenvalues of the series' products did not converge")
	}
	var q, rotated, dual, weights mat.Dense
	values := eigen.Values(nil)
	eigen.VectorsTo(&q)
	rotated.Mul(q.T(), y)
	for i := range 10 { // penalties in equal ratios from 1e-3 to 1e3
		penalty := math.Pow(10, -3+6*float64(i)/9)
		loss := leaveOneOut(&q, &rotated, values, penalty)
		c.losses.Steps, c.losses.Values = append(c.losses.Steps, int64(i+1)), append(c.losses.Values, float32(loss))
		if i == 0 || loss < c.loss {
			c.penalty, c.loss = penalty, loss
		}
	}
	// The weights are xᵀ·(K + α)⁻¹·y, here those of features that are not normalized.
	rotated.Apply(func(j, _ int, v float64) float64 { return v / (max(values[j], 0) + c.penalty) }, &rotated)
	dual.Mul(&q, &rotated)
	weights.Mul(x.T(), &dual)
	for k := range classes {
		w := mat.Col(nil, k, &weights)
		floats.Mul(w, scales)
		c.intercepts[k] -= floats.Dot(w, means)
		c.weights = append(c.weights, w)
	}
	return c, nil
}

// leaveOneOut returns the mean squared leave-one-out error for a penalty. rotated is Qᵀ·y.
func leaveOneOut(q, rotated *mat.Dense, values []float64, penalty float64) (loss float64) {
	n, classes := rotated.Dims()
	shrunk := make([]float64, n) // 1 − Λ/(Λ+α)
	for j, value := range values {
		shrunk[j] = penalty / (max(value, 0) + penalty)
	}
	var scaled, errs mat.Dense
	scaled.Apply(func(j, _ int, v float64) float64 { return v * shrunk[j] }, rotated)
	errs.Mul(q, &scaled) // y − H·y
	for i := range n {
		free := -1 / float64(n) // 1 − H_ii
		for j, v := range q.RawRowView(i) {
			free += v * v * shrunk[j]
		}
		norm := floats.Norm(errs.RawRowView(i), 2) / free
		loss += norm * norm / float64(n*classes)
	}
	return loss
}

// normalize centres the columns of x and scales them to length 1. A constant column becomes zero.
func normalize(x *mat.Dense) (means, scales []float64) {
	n, features := x.Dims()
	means, scales = make([]float64, features), make([]float64, features)
	column := make([]float64, n)
	for j := range features {
		mat.Col(column, j, x)
		means[j] = floats.Sum(column) / float64(n)
		floats.AddConst(-means[j], column)
		if norm := floats.Norm(column, 2); norm > 1e-10 { // more than rounding
			scales[j] = 1 / norm
		}
		floats.Scale(scales[j], column)
		x.SetCol(j, column)
	}
	return means, scales
}

// class is the class of a series with these features.
func (c *classifier) class(features []float64) int {
	scores := make([]float64, len(c.weights))
	for k, w := range c.weights {
		scores[k] = floats.Dot(w, features) + c.intercepts[k]
	}
	return floats.MaxIdx(scores)
}
