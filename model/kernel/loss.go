package kernel

import "math"

// SoftmaxCrossEntropy is the cross entropy between the softmax of each row of
// logits and its label, summed over the rows, and the number of rows whose
// largest logit is at the label (of equal ones the lowest class counts). It sets
//
//	dlogits = scale·(softmax(logits) − onehot(labels))
//
// unless dlogits is the zero Matrix. dlogits may be the same view as logits.
// There is a label, a class from 0 to logits.Cols−1, for every row. Logits that
// are not finite make a loss that is not.
func (s *Set[F]) SoftmaxCrossEntropy(dlogits, logits Matrix[F], labels []int, scale F) (loss float64, correct int) {
	logits.check()
	if dlogits.Data != nil || dlogits.Rows != 0 || dlogits.Cols != 0 {
		dlogits.checkShape(logits.Rows, logits.Cols)
	}
	if len(labels) != logits.Rows {
		panic("kernel: number of labels differs from rows")
	}
	for _, y := range labels {
		if uint(y) >= uint(logits.Cols) {
			panic("kernel: label outside classes")
		}
	}
	if logits.empty() {
		return 0, 0
	}
	return s.backend.softmaxCrossEntropy(dlogits, logits, labels, scale)
}

func (p plain[F]) softmaxCrossEntropy(dlogits, logits Matrix[F], labels []int, scale F) (loss float64, correct int) {
	for i, y := range labels {
		row := logits.Row(i)
		largest, label := row[argmax(row)], row[y]
		if isArgmax(row, y) {
			correct++
		}
		var sum F
		if dlogits.Data == nil {
			for _, x := range row {
				sum += exp(x - largest)
			}
		} else {
			d := dlogits.Row(i)
			for j, x := range row {
				e := exp(x - largest)
				d[j] = e
				sum += e
			}
			factor := scale / sum
			for j := range d {
				d[j] *= factor
			}
			d[y] -= scale
		}
		loss += math.Log(float64(sum)) + float64(largest-label)
	}
	return loss, correct
}

// isArgmax reports whether argmax(row) is j. It is done with most rows of many columns
// after a few of them, and with the rest eight at a time.
func isArgmax[F Float](row []F, j int) bool {
	x := row[j]
	if x != x || row[0] != row[0] { // nothing is above what is no number
		return argmax(row) == j
	}
	for before := row[:j]; len(before) > 0; {
		if len(before) < 8 {
			if before[0] >= x {
				return false
			}
			before = before[1:]
			continue
		}
		b := (*[8]F)(before)
		if b[0] >= x || b[1] >= x || b[2] >= x || b[3] >= x || b[4] >= x || b[5] >= x || b[6] >= x || b[7] >= x {
			return false
		}
		before = before[8:]
	}
	for after := row[j+1:]; len(after) > 0; {
		if len(after) < 8 {
			if after[0] > x {
				return false
			}
			after = after[1:]
			continue
		}
		a := (*[8]F)(after)
		if a[0] > x || a[1] > x || a[2] > x || a[3] > x || a[4] > x || a[5] > x || a[6] > x || a[7] > x {
			return false
		}
		after = after[8:]
	}
	return true
}

// argmax is the lowest of the indices of the largest element.
func argmax[F Float](row []F) int {
	best, largest := 0, row[0]
	for j, x := range row {
		if x > largest {
			best, largest = j, x
		}
	}
	return best
}
