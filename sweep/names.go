package sweep

import (
	"encoding/json"
	"slices"
	"strings"
)

// Name names what a trial has: a parameter, a summary metric or a field of its own, as in parameter.lr, metric.loss
// and trial.state. Without one of these beginnings it is plain: the parameter of that name or else the field, or else
// the metric. Names reads what people write, and prints names.
type Name string

// NameKind is what a Name names.
type NameKind string

// The kinds of names.
const (
	ParameterKind NameKind = "parameter"
	MetricKind    NameKind = "metric"
	// FieldKind are the names of TrialColumns.
	FieldKind NameKind = "trial"
)

// nameKinds are in the order in which a plain name of a list of trials means them.
var nameKinds = []NameKind{MetricKind, ParameterKind, FieldKind}

// Of returns the name of this kind.
func (k NameKind) Of(own string) Name { return Name(string(k) + "." + own) }

// Parts returns the kind of a name, empty for a plain one, and what the parameter, metric or field is called.
func (n Name) Parts() (kind NameKind, own string) {
	for _, kind := range nameKinds {
		if own, ok := strings.CutPrefix(string(n), string(kind)+"."); ok {
			return kind, own
		}
	}
	return "", string(n)
}

// Own returns what the parameter, metric or field is called.
func (n Name) Own() string {
	_, own := n.Parts()
	return own
}

// Is reports whether the name is of a kind.
func (n Name) Is(kind NameKind) bool {
	own, _ := n.Parts()
	return own == kind
}

// Names are the names of some sweeps.
type Names struct {
	// parameters has the parameters, and whether any of their values may be a number.
	parameters map[string]bool
	metrics    map[string]bool
	asked      map[Name]bool
	// Further reports whether any trial has a name that is not known otherwise; nil if there is none.
	Further func(Name) bool
}

// NamesOf returns the names of sweeps, whose records have their submissions.
func NamesOf(records ...*SweepRecord) *Names {
	n := &Names{parameters: map[string]bool{}, metrics: map[string]bool{}, asked: map[Name]bool{}}
	for _, record := range records {
		for i := range record.Grids {
			n.addGrid(&record.Grids[i].Submission)
		}
		for _, name := range record.Metrics {
			n.metrics[name] = true
		}
	}
	return n
}

func (n *Names) addGrid(submission *Submission) {
	for _, p := range submission.Description.Parameters {
		n.AddParameter(p.Name, p.Type != BooleanType && p.Type != StringType)
	}
	for _, axis := range submission.Spec.Axes {
		for _, p := range axis.Parameters {
			n.AddParameter(p.Name, p.Values.List == nil || slices.ContainsFunc(p.Values.List, func(value any) bool {
				_, is := Number(value)
				return is
			}))
		}
	}
	for _, m := range submission.Description.Metrics {
		if m.Summary {
			n.AddMetric(m.Name)
		}
	}
	if by := submission.Spec.Select.By; by != "" {
		n.AddMetric(by)
	}
}

// AddParameter adds a parameter; numeric means that its values may be numbers.
func (n *Names) AddParameter(own string, numeric bool) {
	n.parameters[own] = n.parameters[own] || numeric
}

// AddMetric adds a metric.
func (n *Names) AddMetric(own string) { n.metrics[own] = true }

// Has reports whether a name, which is not plain, is known.
func (n *Names) Has(name Name) bool {
	switch kind, own := name.Parts(); kind {
	case ParameterKind:
		_, is := n.parameters[own]
		return is
	case MetricKind:
		return n.metrics[own]
	case FieldKind:
		return slices.Contains(TrialColumns, own)
	}
	return false
}

// further reports whether a trial has a name that is not known. All fields are known.
func (n *Names) further(name Name) bool {
	if n.Further == nil || name.Is(FieldKind) || name.Own() == "" || len(name.Own()) > LongestName {
		return false
	}
	has, known := n.asked[name]
	if !known {
		has = n.Further(name)
		n.asked[name] = has
	}
	return has
}

// plain returns what a plain name may mean.
func (n *Names) plain(own string) (all []Name) {
	for _, kind := range nameKinds {
		if n.Has(kind.Of(own)) {
			all = append(all, kind.Of(own))
		}
	}
	if all == nil && n.further(MetricKind.Of(own)) {
		all = append(all, MetricKind.Of(own))
	}
	return all
}

// Find returns all that a text may name, those of the first kinds first; the others are the metric, the parameter and
// the field, in this order. It is empty if nothing is known to have the name. A text in double quotes is a plain name,
// and so is one that is known as a whole; else it may begin with its kind, as in metric.lr or metric."a, b".
func (n *Names) Find(text string, first ...NameKind) []Name {
	text = strings.TrimSpace(text)
	all := n.find(text)
	slices.SortStableFunc(all, func(a, b Name) int {
		kindA, _ := a.Parts()
		kindB, _ := b.Parts()
		return placeOf(first, kindA) - placeOf(first, kindB)
	})
	return all
}

// placeOf is the place of a kind in a list, behind it if it is not there.
func placeOf(list []NameKind, kind NameKind) int {
	if at := slices.Index(list, kind); at >= 0 {
		return at
	}
	return len(list)
}

func (n *Names) find(text string) []Name {
	if own, rest, quoted := cutQuoted(text); quoted && rest == "" {
		return n.plain(own)
	}
	if all := n.plain(text); all != nil {
		return all
	}
	if kind, own := unquoted(Name(text)).Parts(); kind != "" {
		if name := kind.Of(own); n.Has(name) || n.further(name) {
			return []Name{name}
		}
	}
	return nil
}

// unquoted is the name of a text whose end may be in quotes, as in metric."a, b".
func unquoted(text Name) Name {
	kind, own := text.Parts()
	plain, rest, quoted := cutQuoted(own)
	switch {
	case !quoted || rest != "":
		return text
	case kind == "":
		return Name(plain)
	}
	return kind.Of(plain)
}

// Assume returns the name that a text is taken for of which nothing is known: of the kind that it begins with, or else
// of the given one.
func Assume(text string, kind NameKind) Name {
	if own, rest, quoted := cutQuoted(strings.TrimSpace(text)); quoted && rest == "" {
		return kind.Of(own)
	}
	name := unquoted(Name(strings.TrimSpace(text)))
	if is, _ := name.Parts(); is != "" {
		return name
	}
	return kind.Of(string(name))
}

// Called is what a parameter or metric is called that a text names, where that kind is meant.
func (n *Names) Called(text string, kind NameKind) string {
	if all := n.Find(text, kind); len(all) > 0 {
		return all[0].Own()
	}
	return Assume(text, kind).Own()
}

// List divides a list with commas into the texts of its names: where several commas may end a name, the last one does
// before which the name is known, or else the first. A name in double quotes ends where they do.
func (n *Names) List(text string) (list []string) {
	for text = strings.TrimSpace(text); text != ""; {
		end := n.listed(text)
		list = append(list, strings.TrimSpace(text[:end]))
		text = strings.TrimSpace(strings.TrimPrefix(text[end:], ","))
	}
	return list
}

// listed is the length of the first name of a list.
func (n *Names) listed(text string) int {
	if end := quotedEnd(text); end > 0 && (end == len(text) || strings.HasPrefix(strings.TrimSpace(text[end:]), ",")) {
		return end + strings.Index(text[end:]+",", ",")
	}
	for end := len(text); end > 0; end = strings.LastIndexByte(text[:end], ',') {
		if len(n.Find(text[:end])) > 0 {
			return end
		}
	}
	if end := strings.IndexByte(text, ','); end >= 0 {
		return end
	}
	return len(text)
}

// Label prints a name: as it is called or, where both a parameter and a metric are called so, or a field and one of
// these, with its kind.
func (n *Names) Label(name Name) string {
	kind, own := name.Parts()
	others := map[NameKind][]NameKind{MetricKind: {ParameterKind}, ParameterKind: {MetricKind},
		FieldKind: {MetricKind, ParameterKind}}[kind]
	if slices.ContainsFunc(others, func(other NameKind) bool { return n.Has(other.Of(own)) }) {
		if n.plain(string(name)) != nil || strings.HasPrefix(own, `"`) { // another one is called metric.NAME
			return string(kind) + "." + quote(own)
		}
		return string(name)
	}
	if as, _ := Name(own).Parts(); as != "" && n.Has(Name(own)) || strings.HasPrefix(own, `"`) {
		return quote(own)
	}
	return own
}

// Quote prints a label so that lists and conditions can have it, however many commas and operators it has.
func (n *Names) Quote(name Name) string {
	label := n.Label(name)
	if !strings.ContainsAny(label, "=!<>,\"") && strings.TrimSpace(label) == label {
		return label
	}
	if kind, own := name.Parts(); kind != "" && label != own && label != quote(own) {
		return string(kind) + "." + quote(own)
	}
	if strings.HasPrefix(label, `"`) && len(n.find(label)) > 0 {
		return label
	}
	return quote(name.Own())
}

// Headings are the names of columns as tables have them: in capitals. Names that have some, that others differ from by
// that alone, or that have a kind or special characters are printed as they are.
func Headings(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		kind, _ := Name(name).Parts()
		special := func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-./ ±%()*", r)
		}
		similar := func(other string) bool {
			own := Name(other).Own()
			return own != name && strings.EqualFold(own, name)
		}
		if list[i] = name; kind == "" && !strings.ContainsFunc(name, special) && !slices.ContainsFunc(names, similar) {
			list[i] = strings.ToUpper(name)
		}
	}
	return list
}

// quote writes a name in double quotes.
func quote(own string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(own) + `"`
}

// quotedEnd is where a name ends that begins with quotes, perhaps after its kind; 0 if none does.
func quotedEnd(text string) int {
	_, own := Name(text).Parts()
	if _, rest, quoted := cutQuoted(own); quoted {
		return len(text) - len(rest)
	}
	return 0
}

// cutQuoted cuts a text in double quotes off the beginning of another. In it a quote is \" as in JSON, or "".
func cutQuoted(text string) (own, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", text, false
	}
	escaped := []byte{'"'}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			escaped = append(escaped, text[i], text[i+1])
			i++
		case text[i] == '"' && i+1 < len(text) && text[i+1] == '"':
			escaped = append(escaped, '\\', '"')
			i++
		case text[i] == '"':
			err := json.Unmarshal(append(escaped, '"'), &own)
			return own, text[i+1:], err == nil && own != ""
		default:
			escaped = append(escaped, text[i])
		}
	}
	return "", text, false
}
