package progress

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"sweep/sweep"
)

// Label names a trial by the parameters of its group, or by a few of its parameters.
func Label(p sweep.Parameters, group []string) string {
	var parts []string
	for _, name := range group {
		if v, ok := p[name]; ok {
			parts = append(parts, fmt.Sprint(v))
		}
	}
	if len(parts) == 0 {
		if seed, ok := p[sweep.SeedParameter]; ok {
			return "seed " + fmt.Sprint(seed)
		}
		const most = 4
		all := p.Names()
		for _, name := range all[:min(len(all), most)] {
			value, _ := json.Marshal(p[name]) // a parameter has a form in JSON
			parts = append(parts, name+" "+string(value))
		}
	}
	return FirstLine(strings.Join(parts, ", "))
}

// stepParameters are what programs call the number of steps of a trial.
var stepParameters = []string{
	"epochs", "num_epochs", "n_epochs", "max_epochs", "steps", "num_steps", "n_steps", "max_steps", "iterations",
	"num_iterations", "max_iterations", "max_iter",
}

// Steps is how many steps a trial has by its parameters, 0 if they do not say.
func Steps(p sweep.Parameters) int64 {
	for _, name := range stepParameters {
		switch n := p[name].(type) {
		case int64:
			return max(n, 0)
		case float64:
			if n >= 1 && n < 1e15 && n == float64(int64(n)) {
				return int64(n)
			}
		}
	}
	return 0
}

// FirstLine is the first line of a text with something in it, without characters
// that a terminal would act on.
func FirstLine(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || r == unicode.ReplacementChar {
				return ' '
			}
			return r
		}, line))
		if line != "" {
			return line
		}
	}
	return ""
}
