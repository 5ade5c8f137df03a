package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Artifact is a file that an execution leaves besides its result, in the artifact store.
type Artifact struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// Digest is the hexadecimal SHA-256 of the bytes.
	Digest string `json:"digest,omitempty"`
	// Store is where the worker put it.
	Store string `json:"store,omitempty"`
	// Problem says why an artifact that the sweep asked for is missing; it has no digest then.
	Problem string `json:"problem,omitempty"`
	// Full says that the artifact store has no room for it.
	Full bool `json:"full,omitempty"`
}

// The beginnings of the Problem of an artifact that its trainer handed over, and that was lost.
const (
	NotStored   = "not stored: "
	NotReceived = "not received from the trainer: "
	Damaged     = "damaged in transit from the trainer: "
)

// WasLost reports whether the trainer handed the artifact over, within the limits, and it was lost before it was
// stored.
func (a *Artifact) WasLost() bool {
	for _, lost := range []string{NotStored, NotReceived, Damaged} {
		if strings.HasPrefix(a.Problem, lost) {
			return true
		}
	}
	return false
}

// ArtifactRecord is an artifact as a store has it, of a trial with a reused result that of its
// source.
type ArtifactRecord struct {
	TrialID
	Artifact
	// Location is its place in the artifact store; see ArtifactLocation.
	Location string `json:"location,omitempty"`
	// Dropped says that it was stored, and removed because its trial is not among the best (Spec.Keep), as
	// Problem says in words.
	Dropped bool `json:"dropped,omitempty"`
}

// ArtifactQuery selects artifacts.
type ArtifactQuery struct {
	Sweep string `json:"sweep"`
	// Indices are the trials; empty means all.
	Indices []int64 `json:"indices,omitempty"`
	// From and Until bound the trials: from From on and, unless it is 0, before Until.
	From  int64 `json:"from,omitempty"`
	Until int64 `json:"until,omitempty"`
	// Name is the artifacts'; empty means all.
	Name string `json:"name,omitempty"`
}

// ArtifactCheck says how closely artifacts are checked.
type ArtifactCheck string

// The checks of artifacts: none, whether there are as many bytes as there should
// be, and whether they are the ones.
const (
	CheckNothing ArtifactCheck = ""
	CheckSize    ArtifactCheck = "size"
	CheckDigest  ArtifactCheck = "digest"
)

// ArtifactState is what a check of an artifact found.
type ArtifactState string

// The states of artifacts. A dropped one was removed because its trial is not among the best; a missing one was
// never stored; of an unknown one it is not known, since its store does not answer as it should.
const (
	ArtifactStored  ArtifactState = "stored"
	ArtifactDropped ArtifactState = "dropped"
	ArtifactMissing ArtifactState = "missing"
	ArtifactLost    ArtifactState = "lost"
	ArtifactDamaged ArtifactState = "damaged"
	ArtifactUnknown ArtifactState = "unknown"
)

// CheckedArtifact is an artifact and what a check found; the Problem of its record says more.
type CheckedArtifact struct {
	ArtifactRecord
	State ArtifactState `json:"state"`
}

const (
	// LongestArtifactName bounds the names of artifacts.
	LongestArtifactName = 100
	// MaxArtifacts is how many a sweep can ask for.
	MaxArtifacts = 100
	// MaxKept is the largest number of trials in Spec.Keep.
	MaxKept = 10_000
	// CheckpointArtifact is the state of a trial at its end, from which one with a larger budget continues.
	CheckpointArtifact = "checkpoint"
	// MediaPrefix begins the names of media: what a program logs beside numbers, such as images and
	// tables. Trainers hand them over unasked.
	MediaPrefix = "media."
	// ConfigArtifact has what a program set in its run's config besides the parameters, as JSON.
	ConfigArtifact = MediaPrefix + "run.config.json"
	// MaxMedia is how many media are kept of a trial.
	MaxMedia = 100
	// DefaultArtifactSize is the limit of one artifact, in bytes, if the sweep sets none.
	DefaultArtifactSize = 1 << 30
	// DefaultArtifactsSize is that of all artifacts of a trial.
	DefaultArtifactsSize = 4 << 30
)

var artifactName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) })

// CheckArtifactName returns an error unless the name is good, also as a file's.
func CheckArtifactName(name string) error {
	if len(name) > LongestArtifactName || !artifactName().MatchString(name) {
		return fmt.Errorf("artifact %.40q: a name has letters, digits and . _ - behind a letter or digit, %d at most",
			name, LongestArtifactName)
	}
	return nil
}

// IsMedia reports whether an artifact is one of a trial's media.
func IsMedia(name string) bool { return strings.HasPrefix(name, MediaPrefix) }

var digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// IsDigest reports whether a text is a hexadecimal SHA-256.
func IsDigest(text string) bool { return digestForm().MatchString(text) }

// ArtifactLocation is the place of an artifact in the artifact store: executions that leave the
// same bytes share one, others do not.
func ArtifactLocation(pool string, id TrialID, digest string) string {
	return path.Join(pool, id.Sweep, strconv.FormatInt(id.Index, 10), digest)
}

// ArtifactPrefix begins the locations of a sweep's artifacts.
func ArtifactPrefix(pool, id string) string { return path.Join(pool, id) + "/" }

// ArtifactSizes returns the largest size of one artifact, and of all of a trial.
func (l *Limits) ArtifactSizes() (one, all int64) {
	one = cmp.Or(l.Artifact, DefaultArtifactSize)
	return one, cmp.Or(l.Artifacts, max(DefaultArtifactsSize, one))
}

// checkKeep returns an error unless the bounds of Keep can be kept to.
func (s *Spec) checkKeep() error {
	for _, name := range slices.Sorted(maps.Keys(s.Keep)) {
		switch k := s.Keep[name]; {
		case !slices.Contains(s.Artifacts, name):
			return fmt.Errorf("keep: %q is not among the artifacts", name)
		case k < 1 || k > MaxKept:
			return fmt.Errorf("keep: %s of %d trials; expected 1 to %d", name, k, MaxKept)
		}
	}
	return nil
}

// ErrStoreFull says that an artifact store is full: retrying does not help until somebody makes
// room.
var ErrStoreFull = errors.New("the artifact store is full")

// DamagedError says that an artifact no longer has the bytes that were stored.
type DamagedError struct {
	Artifact string // its trial and name
	Store    string // where it is
	Problem  string // how it was noticed
}

// Error implements error.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("artifact %s in %s is damaged: %s; train it again, with --reuse=false, to have it made anew",
		e.Artifact, e.Store, e.Problem)
}

// LostError says that a recorded artifact is not in the artifact store, or never was.
type LostError struct {
	Artifact, Problem string
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("artifact %s is not there: %s", e.Artifact, e.Problem)
}
