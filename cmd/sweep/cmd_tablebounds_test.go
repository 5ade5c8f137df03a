package main

import "testing"

// The bounds of trained networks, and why some trials have none.
func TestTableBounds(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	file := write(t, dir, "bounds.yaml", `
name: bounds
artifacts: [weights]
parameters:
  dataset: {value: generated-cbf}
  model: {values: [spectral-rnn, lstm, spectral-mlp]}
  layers: {value: 2, when: {model: spectral-mlp}}
  epochs: {value: 4}
`)
	gated := write(t, dir, "gated.yaml", "name: gated\nartifacts: [weights]\nparameters:\n  dataset: {value: generated-har-2}\n"+
		"  model: {value: fastrnn}\n  hidden: {value: 8}\n  epochs: {value: 1}\n")
	without := write(t, dir, "without.yaml", "name: without\nparameters:\n  dataset: {value: generated-cbf}\n"+
		"  epochs: {value: 2}\n")
	check(t, func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }, []line{
		{args: []string{"table", "bounds"}, code: exitNotFound},
		{args: []string{"run", file}},
		{args: []string{"table", "bounds", "--margins", "0.5,2"}, stdout: []string{"Spectral-RNN  5 †", "corollary 1 †",
			"Neyshabur et al.", "0 trials without weights, 1 without a bound"}},
		{args: []string{"table", "bounds", "bounds", "--all", "--format", "csv"}, stdout: []string{
			"generated-cbf,spectral-rnn,corollary 1,30,1,", "generated-cbf,spectral-mlp,Neyshabur et al.,30,1,"}},
		{args: []string{"table", "bounds", "--margins", "0"}, code: exitUsage, stderr: []string{"--margins"}},
		{args: []string{"table", "bounds", "--delta", "1"}, code: exitUsage, stderr: []string{"--delta"}},
		{args: []string{"run", gated}},
		{args: []string{"table", "bounds"}, stdout: []string{"αT = ", "allows α up to ", "it is not met"}},
		{args: []string{"run", without}},
		{args: []string{"table", "bounds", "without"}, code: exitNotFound, stderr: []string{"artifacts: [weights]"}},
	}...)
}
