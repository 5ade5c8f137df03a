package ledger

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"sweep/sweep"
)

// stderrLimit is how much of the end of a trainer's standard error is kept.
const stderrLimit = sweep.LogLimit

// cleanText returns s as a text that every database takes: valid UTF-8 without
// zero bytes.
func cleanText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// CleanTail returns a text that every database takes, its end alone if it is too long.
func CleanTail(s string) string {
	if len(s) > stderrLimit {
		s = s[len(s)-stderrLimit:]
		for len(s) > 0 && !utf8.RuneStart(s[0]) {
			s = s[1:]
		}
	}
	return cleanText(s)
}

// CleanName returns the beginning of a name as a text that every database takes
// and indexes.
func CleanName(s string) string {
	return cleanText(s[:min(len(s), sweep.LongestName)])
}

// cleanResult returns a copy that can be stored whatever a worker sent: clean
// texts, finite numbers, one curve a metric.
func cleanResult(r *sweep.Result) *sweep.Result {
	c := *r
	c.Diverged = r.Diverged && r.State == sweep.Completed
	c.WeightsDigest = cleanText(r.WeightsDigest)
	c.KernelLevel = cleanText(r.KernelLevel)
	c.Error = cleanText(r.Error)
	c.Stderr = CleanTail(r.Stderr)
	c.Digest = cleanText(r.Digest)
	c.Seconds = finite(r.Seconds)
	c.Summary = make(map[string]float64, len(r.Summary))
	for name, value := range r.Summary {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			c.NotFinite = append(slices.Clip(c.NotFinite), name)
		} else {
			c.Summary[cleanText(name)] = value
		}
	}
	c.NotFinite = cleanNames(c.NotFinite, c.Summary)
	c.Curves = cleanCurves(r.Curves)
	c.Artifacts = cleanArtifacts(r.Artifacts)
	c.Inputs = r.Inputs.Clean()
	return &c
}

// cleanNames returns the names, sorted and each once, that are not in a summary.
func cleanNames(names []string, summary map[string]float64) []string {
	var clean []string
	for _, name := range names {
		if _, finite := summary[cleanText(name)]; !finite {
			clean = append(clean, cleanText(name))
		}
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}

// cleanArtifacts returns the artifacts that can be kept, the last of those with
// equal names alone.
func cleanArtifacts(artifacts []sweep.Artifact) []sweep.Artifact {
	var clean []sweep.Artifact
	for _, a := range artifacts {
		if sweep.CheckArtifactName(a.Name) != nil {
			continue
		}
		a.MediaType, a.Store, a.Problem = CleanName(a.MediaType), CleanName(a.Store), CleanTail(a.Problem)
		if a.Problem == "" && (!sweep.IsDigest(a.Digest) || a.Size < 0) {
			a.Problem = "its worker reported no digest of it"
		}
		if a.Problem != "" {
			a.Digest, a.Size = "", 0
		}
		clean = slices.DeleteFunc(clean, func(b sweep.Artifact) bool { return b.Name == a.Name })
		if clean = append(clean, a); len(clean) == sweep.MaxArtifacts {
			break
		}
	}
	return clean
}

// cleanMarks returns marks that can be stored, with a value for each position at most.
func cleanMarks(m *sweep.Marks) *sweep.Marks {
	c := *m
	c.Metric = cleanText(m.Metric)
	if m.Best != nil {
		c.Best = new(float32(finite(float64(*m.Best))))
	}
	c.Values = slices.DeleteFunc(slices.Clone(m.Values), func(v float32) bool {
		return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0)
	})
	most := sweep.MaxMarks
	if len(m.Bands) > 0 {
		most = min(most, len(m.Bands))
	}
	c.Values = c.Values[:min(len(c.Values), most)]
	return &c
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// cleanCurves returns the curves with clean names, the last of those with
// equal names alone, and arrays of equal length.
func cleanCurves(curves []sweep.Curve) []sweep.Curve {
	place := make(map[string]int, len(curves))
	clean := make([]sweep.Curve, 0, len(curves))
	for _, c := range curves {
		n := min(len(c.Steps), len(c.Values))
		c = sweep.Curve{Metric: cleanText(c.Metric), Offset: max(c.Offset, 0), Steps: c.Steps[:n], Values: c.Values[:n]}
		if i, ok := place[c.Metric]; ok {
			clean[i] = c
			continue
		}
		place[c.Metric] = len(clean)
		clean = append(clean, c)
	}
	return clean
}

// isIncrement reports whether samples add to curves: otherwise they replace them all.
func isIncrement(curves []sweep.Curve) bool {
	return slices.ContainsFunc(curves, func(c sweep.Curve) bool { return c.Offset > 0 })
}

// addSamples updates the curves by the samples of an event. They replace those of the same
// metric from their offset on. Samples with a gap before them are ignored, and so are those
// that would shorten a curve, as those of a repeated older event: the result has them all.
func (t *Trial) addSamples(curves []sweep.Curve) {
	if !isIncrement(curves) {
		t.Curves, t.ReplaceCurves = curves, true
		return
	}
	all := slices.Clone(t.Curves)
	for _, c := range curves {
		i := slices.IndexFunc(all, func(known sweep.Curve) bool { return known.Metric == c.Metric })
		switch {
		case c.Offset == 0 && i < 0:
			all = append(all, c)
		case c.Offset == 0:
			all[i] = c
		case i >= 0 && c.Offset <= len(all[i].Steps) && c.Offset+len(c.Steps) >= len(all[i].Steps):
			all[i].Steps = append(slices.Clone(all[i].Steps[:c.Offset]), c.Steps...)
			all[i].Values = append(slices.Clone(all[i].Values[:c.Offset]), c.Values...)
		default:
			continue
		}
		t.ReplaceCurves = true
	}
	t.Curves = all
}

// StoredSteps returns the steps that are stored for curve i of a trial: none if they equal
// those of curve 0.
func StoredSteps(curves []sweep.Curve, i int) []int64 {
	if i > 0 && slices.Equal(curves[i].Steps, curves[0].Steps) {
		return []int64{}
	}
	return curves[i].Steps
}

// EncodeParameters returns the canonical JSON of a trial's parameters. A zero
// byte in them is refused: Postgres could store it but not read it back.
func EncodeParameters(p sweep.Parameters) (string, error) {
	text, err := p.Canonical()
	if err != nil {
		return "", fmt.Errorf("parameters: %w: %w", sweep.ErrRefused, err)
	}
	if bytes.Contains(text, []byte(`\u0000`)) {
		return "", fmt.Errorf("parameters: a text with a zero byte: %w: %.1000s", sweep.ErrRefused, text)
	}
	return string(text), nil
}
