package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ScriptTrainer is the name of the trainer that runs a program for each trial.
const ScriptTrainer = "script"

// Script is a program that is run for each trial, as in sweep files of Weights & Biases.
type Script struct {
	// Program is the path of the program below Directory, as in the file; empty if Command needs
	// none.
	Program string `json:"program,omitempty"`
	// Command is the command line with its macros, never empty.
	Command []string `json:"command"`
	// Files are further files and patterns that results depend on.
	Files []string `json:"files,omitempty"`
	// Directory is where the program runs, on the machine of the submitter.
	Directory string `json:"directory,omitempty"`
	// Own says that each trial runs in a directory of its own, with copies of what Directory has.
	Own     bool   `json:"own_directory,omitempty"`
	Project string `json:"project,omitempty"`
	Entity  string `json:"entity,omitempty"`
	// Metric is the one that compares trials, if the file names one.
	Metric string `json:"metric,omitempty"`
	// Parameters are in the order of the file.
	Parameters []ScriptParameter `json:"parameters,omitempty"`
	// RunName names the trial among all trials of the database, see [Script.Named]; empty in a sweep file.
	RunName string `json:"run_name,omitempty"`
}

// ScriptParameter says of a parameter what its value in Parameters does not.
type ScriptParameter struct {
	Name string `json:"name"`
	// Path has the names of a nested parameter's groups, and its own; nil if it is in none.
	Path []string `json:"path,omitempty"`
	// Float says that all its numbers are floating-point, even whole ones.
	Float bool `json:"float,omitempty"`
	// Written spells values whose type their canonical form does not show, such as 1.0, by that
	// form.
	Written map[string]string `json:"written,omitempty"`
}

// DefaultCommand is the command line of a program that has none of its own.
var DefaultCommand = []string{"${env}", "${interpreter}", "${program}", "${args}"}

// For returns the part of s that one trial needs.
func (s *Script) For(p Parameters) *Script {
	if s == nil {
		return nil
	}
	part := *s
	part.Parameters = slices.Clone(s.Parameters)
	for i := range part.Parameters {
		q := &part.Parameters[i]
		if q.Written == nil {
			continue
		}
		key, _ := CanonicalJSON(p[q.Name])
		text, ok := q.Written[string(key)]
		q.Written = nil
		if ok {
			q.Written = map[string]string{string(key): text}
		}
	}
	return &part
}

// longestStem bounds the part of a run's name that is the sweep's, so that programs can make a file's name of it.
const longestStem = 100

// Named sets RunName to SWEEPNAME-ID-INDEX: unique in the database, the same in each execution of the trial, and of
// characters that are safe in the names of files.
func (s *Script) Named(sweepName string, id TrialID) *Script {
	if s == nil {
		return nil
	}
	stem := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (r == '.' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, sweepName)
	stem = strings.Trim(stem[:min(len(stem), longestStem)], ".-")
	s.RunName = strings.TrimPrefix(fmt.Sprintf("%s-%s-%d", stem, id.Sweep, id.Index), "-")
	return s
}

// Value returns a value of the parameter as JSON in Python's spelling: a number has a fraction or
// an exponent exactly if it is floating-point.
func (p *ScriptParameter) Value(value any) (string, error) {
	key, err := CanonicalJSON(value)
	if err != nil {
		return "", err
	}
	if text, ok := p.Written[string(key)]; ok {
		return text, nil
	}
	if p.Float {
		if i, ok := value.(int64); ok {
			value = float64(i)
		}
	}
	return WrittenJSON(value), nil
}

// Note adds a value of the file to Written, if its canonical form is of another type.
func (p *ScriptParameter) Note(value any) {
	key, err := CanonicalJSON(value)
	if err != nil {
		return
	}
	back, err := DecodeValue(key)
	if err != nil {
		return
	}
	if text := WrittenJSON(value); text != WrittenJSON(back) {
		if p.Written == nil {
			p.Written = map[string]string{}
		}
		p.Written[string(key)] = text
	}
}

// WrittenJSON encodes a parameter's value as Python's json.dumps does, with sorted keys: 1.0
// keeps its fraction, separators have a space, and everything but ASCII is escaped.
func WrittenJSON(value any) string {
	return string(appendWritten(nil, value))
}

func appendWritten(dst []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return append(dst, PythonFloat(v)...)
	case string:
		return appendASCII(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendWritten(dst, item)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendASCII(dst, key), ": "...)
			dst = appendWritten(dst, v[key])
		}
		return append(dst, '}')
	}
	normal, err := Normalize(value)
	if err != nil {
		return append(dst, "null"...) // no parameter has such a value
	}
	return appendWritten(dst, normal)
}

// appendASCII writes text as a JSON string without characters beyond ASCII.
func appendASCII(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r < ' ' || r > '~' && r < 0x10000:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		case r > '~':
			r -= 0x10000
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// PythonFloat writes a number as Python's repr does: its shortest digits, with a fraction, or
// with an exponent below 1e-4 and from 1e16 on.
func PythonFloat(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN" // as JSON has it in Python
	case math.IsInf(v, 0):
		return strings.Replace(strconv.FormatFloat(v, 'g', -1, 64), "Inf", "Infinity", 1)
	case v != 0 && (math.Abs(v) < 1e-4 || math.Abs(v) >= 1e16):
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// check rejects texts that a database or a command line cannot take.
func (s *Script) check() error {
	if s == nil {
		return nil
	}
	for what, list := range map[string][]string{"program": {s.Program, s.Directory}, "command": s.Command,
		"files": s.Files, "project": {s.Project, s.Entity}, "metric": {s.Metric}} {
		for _, text := range list {
			if err := CheckText(what, text, true); err != nil {
				return err
			}
		}
	}
	return nil
}
