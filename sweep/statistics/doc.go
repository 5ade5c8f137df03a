// Package statistics has the moments of values, and compares systems over blocks, which are data sets or seeds:
// Friedman's test says whether any of them differ, Wilcoxon's signed ranks whether two do. Results have the same bits
// on every machine.
//
//	if statistics.Friedman(losses).P < 0.05 {
//		worse := statistics.Wilcoxon(losses[1], losses[0], statistics.Pratt).Greater
//	}
package statistics
