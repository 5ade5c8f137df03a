package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Inputs are what a program has read that decides about its result, besides what its fingerprint covers. Trials that
// read the same share one list.
type Inputs struct {
	// Rows are sorted by kind and name.
	Rows []Input `json:"rows,omitempty"`
	// Unrecorded says what was not recorded, and is empty if nothing is missing.
	Unrecorded string `json:"unrecorded,omitempty"`
}

// Input is a file or an environment variable, and the digest of what it had when it was read.
type Input struct {
	Kind string `json:"kind"`
	// Name is a variable's name, or a path with slashes: of a file of the project from the directory in which the
	// program runs, of others absolute.
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// The kinds of inputs.
const (
	// FileInput is a file that was read, or was to be read and does not exist.
	FileInput = "file"
	// RewrittenInput is a file that the trial read and wrote afterwards.
	RewrittenInput = "rewritten"
	// VariableInput is an environment variable.
	VariableInput = "variable"
)

// Digests of inputs without content.
const (
	// AbsentInput is the digest of what does not exist.
	AbsentInput = "absent"
	// ChangedInput is the digest of a file that changed after it was read, while the trial ran: what was read is not
	// known.
	ChangedInput = "changed"
)

// Bounds of a list.
const (
	MaxInputs = 2000
	// longestInput bounds a path, maxInputText all names and digests of a list, in bytes.
	longestInput, maxInputText = 1000, 300_000
	// MaxInputLists bounds the lists that are compared before a submission.
	MaxInputLists = 1000
)

// InputList is a list as a store has it, with how many completed trials have it.
type InputList struct {
	Inputs
	ListDigest string `json:"list_digest"`
	Trials     int64  `json:"trials"`
	// Fingerprints are those of the query of which it has a completed trial.
	Fingerprints []Fingerprint `json:"fingerprints,omitempty"`
}

// InputQuery selects lists: those of the completed trials of a program by its digest, of those of a sweep, or the one
// of a trial of it. Program or Sweep is set.
type InputQuery struct {
	Program string `json:"program,omitempty"`
	Sweep   string `json:"sweep,omitempty"`
	Index   *int64 `json:"index,omitempty"`
	// Fingerprints are looked for among the trials of a program.
	Fingerprints []Fingerprint `json:"fingerprints,omitempty"`
}

// Digest returns the hexadecimal SHA-256 of a clean list.
func (in *Inputs) Digest() string {
	h := sha256.New()
	for _, row := range in.Rows {
		fmt.Fprintf(h, "%q %q %q\n", row.Kind, row.Name, row.Digest)
	}
	fmt.Fprintf(h, "unrecorded %q\n", in.Unrecorded)
	return hex.EncodeToString(h.Sum(nil))
}

// Clean returns a list that can be stored: sorted, each name once, and within the bounds. What is left out is noted as
// unrecorded.
func (in *Inputs) Clean() *Inputs {
	if in == nil {
		return nil
	}
	rows := slices.Clone(in.Rows)
	slices.SortFunc(rows, func(a, b Input) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	clean := &Inputs{Unrecorded: in.Unrecorded}
	if len(clean.Unrecorded) > LongestName || CheckText("inputs", clean.Unrecorded, false) != nil {
		clean.Unrecorded = "something"
	}
	text, left := 0, 0
	for i, row := range rows {
		if i > 0 && row.Kind == rows[i-1].Kind && row.Name == rows[i-1].Name {
			continue
		}
		text += len(row.Name) + len(row.Digest)
		if !row.valid() || len(clean.Rows) == MaxInputs || text > maxInputText {
			left++
			continue
		}
		clean.Rows = append(clean.Rows, row)
	}
	if left > 0 && clean.Unrecorded == "" {
		clean.Unrecorded = CountText(left, "further file")
	}
	return clean
}

// valid reports whether an input can be stored.
func (row *Input) valid() bool {
	known := row.Kind == FileInput || row.Kind == RewrittenInput || row.Kind == VariableInput
	return known && row.Name != "" && len(row.Name) <= longestInput && CheckText("inputs", row.Name, false) == nil &&
		CheckName("inputs", row.Digest) == nil
}
