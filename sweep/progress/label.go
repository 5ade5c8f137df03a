package progress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// maxNamed is how many parameters name a trial.
const maxNamed = 4

// Label names a trial by the values of its group, else by the parameters that vary, or by a few of its
// parameters.
func Label(p sweep.Parameters, group, varied []string) string {
	var parts []string
	for _, name := range group {
		if v, ok := p[name]; ok {
			parts = append(parts, ValueText(v))
		}
	}
	if len(parts) == 0 {
		parts = named(p, varied)
	}
	if len(parts) == 0 {
		parts = named(p, p.Names())
	}
	return FirstLine(strings.Join(parts, ", "))
}

// named lists the first of these parameters that a trial has.
func named(p sweep.Parameters, names []string) (parts []string) {
	for _, name := range names {
		if v, ok := p[name]; ok && len(parts) < maxNamed {
			parts = append(parts, name+" "+ValueText(v))
		}
	}
	return parts
}

// Varied are the parameters in which a sweep's trials differ by its file, its extensions and its policies, in their
// order, perhaps without the seed.
func Varied(record *sweep.SweepRecord, withSeed bool) (names []string) {
	type parameter struct {
		grids  int // that have it
		varied bool
		value  any
	}
	found := map[string]*parameter{}
	add := func(name string, value any, varied bool) {
		p := found[name]
		if p == nil {
			p = &parameter{value: value}
			found[name] = p
			names = append(names, name)
		}
		p.grids++
		p.varied = p.varied || varied || !sweep.Equal(p.value, value)
	}
	for i := range record.Grids {
		spec := &record.Grids[i].Submission.Spec
		byPolicy := policy.Varies(spec)
		for _, axis := range spec.Axes {
			for _, p := range axis.Parameters {
				varied := p.Values.Len() > 1 || p.Values.Distribution != nil || slices.Contains(byPolicy, p.Name)
				add(p.Name, p.Values.At(0), varied)
			}
		}
		for _, name := range byPolicy { // of one that the spec lacks the trainer's default is the largest value
			if found[name] == nil {
				add(name, nil, true)
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		p := found[name]
		return !p.varied && p.grids == len(record.Grids) || name == sweep.SeedParameter && !withSeed
	})
}

// ValueText is a parameter's value on one line: texts without quotes, unless they read as another value, and of
// numbers, which may be drawn at random, at most six significant digits.
func ValueText(value any) string {
	switch v := value.(type) {
	case string:
		if sweep.PlainText(v) {
			return FirstLine(v)
		}
	case float64:
		if short := strconv.FormatFloat(v, 'g', 6, 64); len(short) < len(strconv.FormatFloat(v, 'g', -1, 64)) {
			return short
		}
	}
	data, err := sweep.CanonicalJSON(value)
	if err != nil {
		return FirstLine(fmt.Sprint(value))
	}
	return string(data)
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
