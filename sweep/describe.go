package sweep

import (
	"fmt"
	"strings"
)

// Accepts is a parameter's type, what it accepts and its default.
func (p *ParameterSchema) Accepts() string {
	text := string(p.Type)
	if accepts := p.accepted(); accepts != "" {
		text += ", " + accepts
	}
	if p.Required {
		return text + ", required"
	}
	return text + ", default " + JSONText(p.Default)
}

// DefaultsText are the defaults under conditions, one a value.
func (p *ParameterSchema) DefaultsText() (lines []string) {
	var values []string
	whens := map[string][]Match{}
	for _, d := range p.Defaults {
		value := JSONText(d.Value)
		if whens[value] == nil {
			values = append(values, value)
		}
		whens[value] = append(whens[value], d.When)
	}
	for _, value := range values {
		lines = append(lines, "default "+value+" for "+matchesText(whens[value]))
	}
	return lines
}

// AppliesText says where a parameter applies, if not everywhere, its neutral value, and
// whether its values cannot be compared.
func (p *ParameterSchema) AppliesText() (lines []string) {
	if p.AppliesWhen != nil {
		lines = append(lines, "applies for "+p.AppliesWhen.Text())
	}
	if p.Neutral != nil {
		line := "neutral: " + JSONText(p.Neutral)
		if p.NeutralWhen != nil {
			line += " for " + p.NeutralWhen.Text()
		}
		lines = append(lines, line)
	}
	switch {
	case p.Measures && p.MeasuresWhen != nil:
		lines = append(lines, "values do not compete for "+p.MeasuresWhen.Text())
	case p.Measures:
		lines = append(lines, "values do not compete")
	}
	return lines
}

// matchesText is conditions of which one has to hold; those on one and the same
// parameter are joined.
func matchesText(matches []Match) string {
	var names, texts []string
	values := map[string][]string{}
	for _, m := range matches {
		keys := m.Names()
		if len(keys) != 1 {
			texts = append(texts, m.Text())
			continue
		}
		if values[keys[0]] == nil {
			names = append(names, keys[0])
		}
		values[keys[0]] = append(values[keys[0]], words(m[keys[0]])...)
	}
	for _, name := range names {
		texts = append(texts, name+" "+strings.Join(values[name], "|"))
	}
	return strings.Join(texts, " or ")
}

// Text is the condition in words.
func (m Match) Text() string {
	var conditions []string
	for _, name := range m.Names() {
		conditions = append(conditions, name+" "+strings.Join(words(m[name]), "|"))
	}
	return strings.Join(conditions, ", ")
}

func words(values []any) []string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return words
}

func (p *ParameterSchema) accepted() string {
	if len(p.Enum) > 0 {
		return strings.Join(words(p.Enum), "|")
	}
	var bounds []string
	if p.Minimum != nil {
		sign := "≥"
		if p.ExclusiveMinimum {
			sign = ">"
		}
		bounds = append(bounds, fmt.Sprintf("%s %v", sign, *p.Minimum))
	}
	if p.Maximum != nil {
		bounds = append(bounds, fmt.Sprintf("≤ %v", *p.Maximum))
	}
	return strings.Join(bounds, ", ")
}
