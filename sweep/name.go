package sweep

import (
	"cmp"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// LongestName bounds the names of sweeps, parameters, metrics and labels, in bytes.
const LongestName = 200

// CheckName checks a name from outside; what says in the error what it names.
func CheckName(what, name string) error {
	if name == "" {
		return fmt.Errorf("%s: an empty name", what)
	}
	if len(name) > LongestName {
		return fmt.Errorf("%s %.40q…: a name of %d bytes; at most %d", what, name, len(name), LongestName)
	}
	return CheckText(what, name, false)
}

// CheckText checks a text from outside: it must be valid UTF-8 without NUL, and without other
// control characters unless control allows them, as in a description of several lines.
func CheckText(what, text string, control bool) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s %.40q: not valid UTF-8", what, text)
	}
	for _, r := range text {
		if r == 0 || !control && unicode.IsControl(r) {
			return fmt.Errorf("%s %.40q: must not contain the control character %q", what, text, r)
		}
	}
	return nil
}

// checkValue is CheckText for all texts in a parameter's value; keys of mappings are names.
func checkValue(what string, value any) error {
	switch v := value.(type) {
	case string:
		return CheckText(what, v, true)
	case []any:
		for _, item := range v {
			if err := checkValue(what, item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			if err := cmp.Or(CheckName(what+": key", key), checkValue(what, item)); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckNames checks that databases can take the texts. Errors about parameters are
// *ParameterErrors.
func (s *Spec) CheckNames() error {
	if err := cmp.Or(CheckName("name of the sweep", s.Name), CheckName("trainer", s.Trainer),
		CheckName("pool", s.Pool), CheckText("description", s.Description, true)); err != nil {
		return err
	}
	if err := CheckTags(s.Tags); err != nil {
		return err
	}
	for _, axis := range s.Axes {
		for _, p := range axis.Parameters {
			if err := CheckName("parameter", p.Name); err != nil {
				return refused(p.Name, "%v", err)
			}
			for _, value := range p.Values.List {
				if err := checkValue("text", value); err != nil {
					return &ParameterError{Parameter: p.Name, Value: value, Problem: err.Error()}
				}
			}
		}
	}
	if err := s.Script.check(); err != nil {
		return err
	}
	if len(s.Artifacts) > MaxArtifacts {
		return fmt.Errorf("artifacts: %d names; at most %d", len(s.Artifacts), MaxArtifacts)
	}
	for _, name := range s.Artifacts {
		if err := CheckArtifactName(name); err != nil {
			return err
		}
	}
	if err := s.checkKeep(); err != nil {
		return err
	}
	if s.Need != nil {
		for name := range s.Need.Devices {
			if err := CheckName("device", name); err != nil {
				return err
			}
		}
	}
	for name, value := range s.Requires {
		if err := cmp.Or(CheckName("label", name), CheckText("label "+name, value, false)); err != nil {
			return err
		}
	}
	return nil
}

// CheckNames checks that databases can take the names and texts.
func (s *Submission) CheckNames() error {
	if err := s.Spec.CheckNames(); err != nil {
		return err
	}
	if err := s.Description.checkNames(); err != nil {
		return fmt.Errorf("description of trainer %.40q: %w", s.Spec.Trainer, err)
	}
	for key, digest := range s.Datasets {
		if err := cmp.Or(CheckText("data set", key, true), CheckText("data set", digest, true)); err != nil {
			return err
		}
	}
	if s.Spec.Budget != nil {
		if err := s.Spec.Budget.check(); err != nil {
			return err
		}
	}
	if len(s.Purpose) > maxPurpose {
		return fmt.Errorf("purpose %.40q…: %d bytes, of at most %d", s.Purpose, len(s.Purpose), maxPurpose)
	}
	return cmp.Or(CheckText("key", s.Key, false), CheckText("asked_by", s.AskedBy, false),
		CheckText("purpose", s.Purpose, true))
}

// maxPurpose bounds the purpose of a submission, in bytes.
const maxPurpose = 2000

func (d *Description) checkNames() error {
	if err := cmp.Or(CheckText("name", d.Name, false), CheckText("version", d.Version, false),
		CheckText("result version", d.ResultVersion, false),
		CheckText("kernel level", d.KernelLevel, false)); err != nil {
		return err
	}
	for i := range d.Parameters {
		p := &d.Parameters[i]
		if err := CheckName("parameter", p.Name); err != nil {
			return err
		}
		values := []any{p.Default}
		for _, c := range p.Defaults {
			values = append(values, c.Value)
		}
		if err := checkValue("default value", values); err != nil {
			return refused(p.Name, "%v", err)
		}
	}
	for i := range d.Metrics {
		if err := CheckName("metric", d.Metrics[i].Name); err != nil {
			return err
		}
	}
	return nil
}
