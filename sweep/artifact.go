package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
)

// Artifact is named bytes that an execution leaves besides its result, in the
// artifact store.
type Artifact struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// Digest is the hexadecimal SHA-256 of the bytes.
	Digest string `json:"digest,omitempty"`
	// Store says where the worker put it.
	Store string `json:"store,omitempty"`
	// Problem says why there is none of an artifact that the sweep asked for; it
	// has no digest then.
	Problem string `json:"problem,omitempty"`
	// Full says that the problem is an artifact store without room.
	Full bool `json:"full,omitempty"`
}

// ArtifactRecord is an artifact as a store holds it. Of a trial that took a
// result over they are its source's.
type ArtifactRecord struct {
	TrialID
	Artifact
	// Location is where in the artifact store the bytes are; see ArtifactLocation.
	Location string `json:"location,omitempty"`
}

// ArtifactQuery selects artifacts.
type ArtifactQuery struct {
	Sweep string `json:"sweep"`
	// Indices are the trials; empty means all.
	Indices []int64 `json:"indices,omitempty"`
	// From and Until bound them: those from From on, before Until unless it is 0.
	From  int64 `json:"from,omitempty"`
	Until int64 `json:"until,omitempty"`
	// Name is the artifacts'; empty means all.
	Name string `json:"name,omitempty"`
}

// ArtifactCheck says how closely the bytes of artifacts are looked at.
type ArtifactCheck string

// The checks of artifacts: none, whether there are as many bytes as there should
// be, and whether they are the ones.
const (
	CheckNothing ArtifactCheck = ""
	CheckSize    ArtifactCheck = "size"
	CheckDigest  ArtifactCheck = "digest"
)

// ArtifactState is how an artifact was found.
type ArtifactState string

// The states of artifacts. A missing one was never stored; of an unknown one it is
// not known, since its store does not answer as it should.
const (
	ArtifactStored  ArtifactState = "stored"
	ArtifactMissing ArtifactState = "missing"
	ArtifactLost    ArtifactState = "lost"
	ArtifactDamaged ArtifactState = "damaged"
	ArtifactUnknown ArtifactState = "unknown"
)

// CheckedArtifact is an artifact and how it was found; Problem of its record says
// more.
type CheckedArtifact struct {
	ArtifactRecord
	State ArtifactState `json:"state"`
}

const (
	// LongestArtifactName bounds the names of artifacts.
	LongestArtifactName = 100
	// MostArtifacts is how many a sweep can ask for.
	MostArtifacts = 100
	// DefaultArtifactSize is what an artifact may have at most if the sweep does not
	// say so, in bytes.
	DefaultArtifactSize = 1 << 30
	// DefaultArtifactsSize is what all of a trial may have.
	DefaultArtifactsSize = 4 << 30
)

var artifactName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// CheckArtifactName reports what is wrong with an artifact's name: it is a file's
// name, too.
func CheckArtifactName(name string) error {
	if len(name) > LongestArtifactName || !artifactName.MatchString(name) {
		return fmt.Errorf("artifact %.40q: a name has letters, digits and . _ - behind a letter or digit, %d at most",
			name, LongestArtifactName)
	}
	return nil
}

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsDigest reports whether a text is a hexadecimal SHA-256.
func IsDigest(text string) bool { return digestForm.MatchString(text) }

// ArtifactLocation is where in the artifact store the bytes of a trial's artifact
// are: two executions that leave the same have one place, and two that do not
// have two.
func ArtifactLocation(pool string, id TrialID, digest string) string {
	return path.Join(pool, id.Sweep, strconv.FormatInt(id.Index, 10), digest)
}

// ArtifactPrefix begins the locations of a sweep's artifacts.
func ArtifactPrefix(pool, id string) string { return path.Join(pool, id) + "/" }

// ArtifactSizes returns what one artifact, and all of a trial, may have at most.
func (l *Limits) ArtifactSizes() (one, all int64) {
	one = cmp.Or(l.Artifact, DefaultArtifactSize)
	return one, cmp.Or(l.Artifacts, max(DefaultArtifactsSize, one))
}

// ErrStoreFull says that an artifact store has no room for an artifact. Trying again
// does not help before somebody makes room.
var ErrStoreFull = errors.New("the artifact store is full")

// DamagedError says that the bytes of an artifact are not those that were stored.
type DamagedError struct {
	// Artifact names it: its trial and name.
	Artifact string
	// Store is where it is.
	Store string
	// Problem says how that was noticed.
	Problem string
}

// Error implements error.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("artifact %s in %s is damaged: %s; train it again, with --reuse=false, to have it made anew",
		e.Artifact, e.Store, e.Problem)
}

// LostError says that the bytes of a recorded artifact are not in the artifact
// store, or that there never were any.
type LostError struct {
	Artifact, Problem string
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("artifact %s is not there: %s", e.Artifact, e.Problem)
}
