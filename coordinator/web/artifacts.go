package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"sweep/sweep"
)

// Artifacts reads what trials left besides their results: a coordinator, or who
// speaks to one.
type Artifacts interface {
	// CheckArtifacts calls yield for each artifact that matches the query, with how it was
	// found.
	CheckArtifacts(ctx context.Context, query sweep.ArtifactQuery, check sweep.ArtifactCheck,
		yield func(*sweep.CheckedArtifact) error) error
	// Artifact copies the bytes of an artifact from byte from on, and fails with a
	// *sweep.LostError or a *sweep.DamagedError, in whose case a part may have been copied.
	Artifact(ctx context.Context, id sweep.TrialID, name string, from int64,
		out io.Writer) (*sweep.ArtifactRecord, error)
}

// checksAtOnce is how many artifacts are read at a time only to see whether they are
// whole.
const checksAtOnce = 2

var errNoArtifacts = &requestError{http.StatusNotFound, "the dashboard knows no artifact store here"}

// artifacts tells how a trial's artifacts are found: their sizes are looked at; with a
// name, the bytes of that one.
func (s *Server) artifacts(r *http.Request) (any, error) {
	id, err := trialOf(r, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if s.options.Artifacts == nil {
		return nil, errNoArtifacts
	}
	query := sweep.ArtifactQuery{Sweep: id.Sweep, Indices: []int64{id.Index}, Name: r.URL.Query().Get("name")}
	check := sweep.CheckSize
	if query.Name != "" {
		check = sweep.CheckDigest
		select {
		case s.checks <- struct{}{}:
			defer func() { <-s.checks }()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	list := []sweep.CheckedArtifact{}
	err = s.options.Artifacts.CheckArtifacts(r.Context(), query, check, func(a *sweep.CheckedArtifact) error {
		list = append(list, *a)
		return nil
	})
	return map[string]any{"artifacts": list}, err
}

// shownTypes are the types of images that a page may show, by the ends of their names. Others could hold
// scripts.
var shownTypes = map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg",
	".gif": "image/gif", ".webp": "image/webp"}

// artifact answers an artifact as a file, an image with show=1 as one to be shown. The digest is
// verified on the way: a damaged artifact is cut short, so that nobody takes it for whole.
func (s *Server) artifact(w http.ResponseWriter, r *http.Request) error {
	id, err := trialOf(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	if s.options.Artifacts == nil {
		return errNoArtifacts
	}
	record, err := s.options.Store.Sweep(r.Context(), id.Sweep)
	if err != nil {
		return err
	}
	id.Sweep = record.ID
	name := r.PathValue("name")
	var known *sweep.ArtifactRecord
	err = s.options.Store.Artifacts(r.Context(), sweep.ArtifactQuery{Sweep: id.Sweep, Indices: []int64{id.Index},
		Name: name}, func(a *sweep.ArtifactRecord) error {
		known = a
		return nil
	})
	if err != nil {
		return err
	}
	if known == nil || known.Problem != "" { // it says why there is none
		_, err := s.options.Artifacts.Artifact(r.Context(), id, name, 0, io.Discard)
		return cmp.Or[error](err, &requestError{http.StatusConflict, "the artifact came just now: ask again"})
	}
	begin := func() {
		h := w.Header()
		if shown := shownTypes[strings.ToLower(path.Ext(name))]; shown != "" && r.URL.Query().Get("show") == "1" {
			h.Set("Content-Type", shown)
		} else {
			h.Set("Content-Type", "application/octet-stream")
			h.Set("Content-Disposition", attachment(fmt.Sprintf("%s-%d-%s", id.Sweep, id.Index, name)))
		}
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Length", strconv.FormatInt(known.Size, 10))
		if sum, err := hex.DecodeString(known.Digest); err == nil {
			h.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":") // RFC 9530
		}
	}
	if r.Method == http.MethodHead {
		begin()
		return nil
	}
	out := withheld{w: w, begin: begin}
	if _, err := s.options.Artifacts.Artifact(r.Context(), id, name, 0, &out); err != nil {
		if out.begun && r.Context().Err() == nil {
			s.log.Warn("dashboard: the transfer of an artifact was interrupted", "artifact", id.String()+"/"+name,
				"error", err)
			panic(http.ErrAbortHandler) // net/http's word for it: whoever reads sees that the end is missing
		}
		return err
	}
	_ = out.pass() // who asked may be gone
	return nil
}

// withheld passes bytes on, but for those of the last Write, which pass hands over: until then
// it may turn out that they are not what they should be.
type withheld struct {
	w     io.Writer
	begin func() // called before the first byte
	begun bool
	last  []byte
}

// Write implements io.Writer.
func (o *withheld) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(o.last) > 0 {
		if err := o.pass(); err != nil {
			return 0, err
		}
	}
	o.last = append(o.last[:0], p...)
	return len(p), nil
}

// pass passes on what was withheld.
func (o *withheld) pass() error {
	if !o.begun {
		o.begun = true
		o.begin()
	}
	_, err := o.w.Write(o.last)
	return err
}

// attachment has a browser keep an answer as a file of a name that means nothing to a
// shell or a file system.
func attachment(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, name)
	return mime.FormatMediaType("attachment", map[string]string{"filename": strings.TrimLeft(safe, ".-")})
}
