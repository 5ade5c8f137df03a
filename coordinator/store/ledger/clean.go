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
const stderrLimit = 64 << 10

// cleanText returns s as a text that every database takes: valid UTF-8 without
// zero bytes.
func cleanText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// cleanTail keeps the end of a text that is too long.
func cleanTail(s string) string {
	if len(s) > stderrLimit {
		s = s[len(s)-stderrLimit:]
		for len(s) > 0 && !utf8.RuneStart(s[0]) {
			s = s[1:]
		}
	}
	return cleanText(s)
}

// cleanResult returns a copy that can be stored whatever a worker sent: clean
// texts, finite numbers, one curve a metric.
func cleanResult(r *sweep.Result) *sweep.Result {
	c := *r
	c.Diverged = r.Diverged && r.State == sweep.Completed
	c.WeightsDigest = cleanText(r.WeightsDigest)
	c.KernelLevel = cleanText(r.KernelLevel)
	c.Error = cleanText(r.Error)
	c.Stderr = cleanTail(r.Stderr)
	c.Digest = cleanText(r.Digest)
	c.Seconds = finite(r.Seconds)
	c.Flops = finite(r.Flops)
	c.Summary = make(map[string]float64, len(r.Summary))
	for name, value := range r.Summary {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			c.Summary[cleanText(name)] = value
		}
	}
	c.Curves = cleanCurves(r.Curves)
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
		c = sweep.Curve{Metric: cleanText(c.Metric), Steps: c.Steps[:n], Values: c.Values[:n]}
		if i, ok := place[c.Metric]; ok {
			clean[i] = c
			continue
		}
		place[c.Metric] = len(clean)
		clean = append(clean, c)
	}
	return clean
}

// StoredSteps returns the steps that a store keeps for curve i of a trial:
// none if they are those of curve 0, which stand for them.
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
		return "", fmt.Errorf("parameters: %w", err)
	}
	if bytes.Contains(text, []byte(`\u0000`)) {
		return "", fmt.Errorf("parameters: a text with a zero byte cannot be stored: %s", text)
	}
	return string(text), nil
}
