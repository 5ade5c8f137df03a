package sweep

import (
	"fmt"
	"slices"
	"strings"
)

// Operators are those of conditions.
var Operators = []string{"=", "!=", "<", "<=", ">", ">="}

// Lacks and Has are operators without a value: of trials that do not have what is named, and of those that have it, be
// it null. They are written as = and != before nothing.
const (
	Lacks = "lacks"
	Has   = "has"
)

// writtenOperators are what conditions may be written with, the longest first.
var writtenOperators = []string{"==", "!=", "<=", ">=", "=", "<", ">"}

// Condition reads NAME OPERATOR VALUE; a value that is JSON is taken as that, anything else as text. Where several
// operators may end the name, the last one does before which it is known, or else the first. A name in double quotes
// ends where they do. All are what the name may mean that can have such a value, first the one that the condition is
// about; none if nothing is known to have the name, which then is a metric's.
func (n *Names) Condition(text string) (c TrialCondition, all []Name, err error) {
	text = strings.TrimSpace(text)
	name, rest := n.cutName(text)
	if c, err = readCondition(text, rest); err != nil {
		return c, nil, err
	}
	all = n.fitting(n.Find(name, ParameterKind), c.Value)
	if len(all) == 0 {
		c.Name = Assume(name, MetricKind)
		return c, nil, nil
	}
	c.Name = all[0]
	return c, all, c.check(text)
}

// check refuses a value that what the condition is about never has.
func (c *TrialCondition) check(text string) error {
	kind, own := c.Name.Parts()
	_, number := Number(c.Value)
	switch {
	case c.Value == nil:
	case c.Name == FieldKind.Of("state"):
		word, _ := c.Value.(string)
		if states := append(slices.Clone(States), "diverged"); !slices.Contains(states, State(word)) {
			return fmt.Errorf("%.100q: expected one of %v", text, states)
		}
	case !number && (kind == MetricKind || kind == FieldKind && !slices.Contains(textColumns, own)):
		return fmt.Errorf("%.100q: %s has only numbers, and %.40q is none", text, own, JSONText(c.Value))
	}
	return nil
}

// cutName divides a condition into its name and the rest, which begins with an operator if there is one.
func (n *Names) cutName(text string) (name, rest string) {
	if end := quotedEnd(text); end > 0 && operatorOf(strings.TrimSpace(text[end:])) != "" {
		return text[:end], text[end:]
	}
	const longest = 2*LongestName + 32 // quotes double characters; its kind and blanks come beside it
	for at := min(len(text)-1, longest); at > 0; at-- {
		if operatorOf(text[at:]) != "" && len(n.Find(text[:at])) > 0 {
			return text[:at], text[at:]
		}
	}
	at := max(strings.IndexAny(text, "=!<>"), 0)
	return text[:at], text[at:]
}

// operatorOf returns the operator that a text begins with.
func operatorOf(text string) string {
	for _, operator := range writtenOperators {
		if strings.HasPrefix(text, operator) {
			return operator
		}
	}
	return ""
}

// readCondition reads OPERATOR VALUE, the rest of a condition.
func readCondition(text, rest string) (c TrialCondition, err error) {
	rest = strings.TrimSpace(rest)
	operator := operatorOf(rest)
	switch {
	case len(rest) == len(text):
		return c, fmt.Errorf("%.100q: expected NAME=VALUE, or !=, <, <=, >, >= in place of =", text)
	case operator == "":
		return c, fmt.Errorf("%.100q: expected != in place of ! alone", text)
	}
	if behind := rest[len(operator):]; behind != "" && strings.ContainsAny(behind[:1], "=!<>~") {
		return c, fmt.Errorf("%.100q: there is no operator %s, only %s; a text that begins with %[4]s is written in quotes",
			text, operator+behind[:1], strings.Join(Operators, " "), behind[:1])
	}
	word := strings.TrimSpace(rest[len(operator):])
	c.Operator = strings.Replace(operator, "==", "=", 1)
	if word == "" {
		c.Operator = map[string]string{"=": Lacks, "!=": Has}[c.Operator]
		if c.Operator == "" {
			err = fmt.Errorf("%.100q: expected a value after %s", text, operator)
		}
		return c, err
	}
	if c.Value, err = DecodeValue([]byte(word)); err != nil {
		c.Value = word
	}
	return c, nil
}

// fitting leaves those names out that cannot have such a value, unless none is left.
func (n *Names) fitting(all []Name, value any) []Name {
	if len(all) < 2 || value == nil {
		return all
	}
	_, number := Number(value)
	fit := slices.DeleteFunc(slices.Clone(all), func(name Name) bool {
		switch kind, own := name.Parts(); kind {
		case ParameterKind:
			return number && !n.parameters[own]
		case MetricKind:
			return !number
		case FieldKind:
			return number == slices.Contains(textColumns, own)
		}
		return false
	})
	if len(fit) == 0 {
		return all
	}
	return fit
}

// textColumns are those of TrialColumns that have no numbers.
var textColumns = []string{"state", "diverged", "worker", "fingerprint", "kernel_level", "error", "digest", "run_name",
	"run_group", "notes", TagColumn}
