package trainer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// inlineArtifact is the size in bytes up to which the message of an artifact has its content. A
// larger one is sent as a file.
const inlineArtifact = 256 << 10

// Artifact implements sweep.Sink.
func (s *sender) Artifact(a sweep.Artifact, content io.Reader) error {
	if err := sweep.CheckArtifactName(a.Name); err != nil {
		return err
	}
	if !slices.Contains(s.artifacts, a.Name) && !sweep.IsMedia(a.Name) {
		return nil
	}
	m, err := encodeArtifact(a, content)
	if err != nil {
		return fmt.Errorf("artifact %s: %w", a.Name, err)
	}
	s.event.Artifact = m
	err = s.send()
	s.event.Artifact = nil
	return err
}

// encodeArtifact returns the message of an artifact: with its content, or with the name of a file
// in the temporary directory.
func encodeArtifact(a sweep.Artifact, content io.Reader) (m *trainerpb.Artifact, err error) {
	m = &trainerpb.Artifact{Name: a.Name, MediaType: valid(a.MediaType)}
	h := sha256.New()
	var out io.Writer = h
	if own := ownFile(content); own != "" {
		m.File = own
	} else {
		head, err := io.ReadAll(io.LimitReader(content, inlineArtifact+1))
		if err != nil {
			return nil, err
		}
		content = io.MultiReader(bytes.NewReader(head), content)
		if len(head) <= inlineArtifact {
			m.Content = head
		} else {
			f, err := os.CreateTemp("", "artifact-")
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			m.File, out = filepath.Base(f.Name()), io.MultiWriter(h, f)
		}
	}
	if m.Size, err = io.Copy(out, content); err != nil {
		return nil, err
	}
	m.Digest = hex.EncodeToString(h.Sum(nil))
	switch {
	case a.Size != 0 && a.Size != m.Size:
		return nil, fmt.Errorf("it has %d bytes, not %d as announced", m.Size, a.Size)
	case a.Digest != "" && a.Digest != m.Digest:
		return nil, fmt.Errorf("its digest is %s, not %.64q as announced", m.Digest, a.Digest)
	}
	return m, nil
}

// ownFile returns the path of content, relative to the temporary directory, if it is a regular
// file in there that was not read yet; else "".
func ownFile(content io.Reader) string {
	f, ok := content.(*os.File)
	if !ok {
		return ""
	}
	if at, err := f.Seek(0, io.SeekCurrent); err != nil || at != 0 {
		return ""
	}
	path, err := filepath.Rel(os.TempDir(), f.Name())
	if err != nil || !filepath.IsLocal(path) {
		return ""
	}
	there, err := os.Lstat(f.Name())
	if err != nil {
		return ""
	}
	open, err := f.Stat()
	if err != nil || !os.SameFile(there, open) || !open.Mode().IsRegular() {
		return ""
	}
	return path
}

// artifact sends an artifact to the sink.
func (r *receiver) artifact(m *trainerpb.Artifact) error {
	a := sweep.Artifact{Name: m.GetName(), MediaType: m.GetMediaType(), Size: m.GetSize(), Digest: m.GetDigest()}
	if err := sweep.CheckArtifactName(a.Name); err != nil {
		return err
	}
	if m.GetFile() == "" {
		r.sinkErr = r.sink.Artifact(a, bytes.NewReader(m.GetContent()))
		return r.sinkErr
	}
	// The worker opens the file with more rights than the trainer has: no link may lead out
	// of the trainer's directory.
	root, err := os.OpenRoot(r.scratch)
	if err != nil {
		return fmt.Errorf("artifact %s: %w", a.Name, err)
	}
	defer func() { _ = root.Close() }() // it was only looked through
	name := strings.TrimPrefix(m.GetFile(), r.scratch+string(filepath.Separator))
	f, err := root.OpenFile(name, os.O_RDONLY|openNow, 0)
	if err != nil {
		return fmt.Errorf("artifact %s: %w", a.Name, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(fmt.Errorf("artifact %s: %.100q is not a regular file", a.Name, name), err)
	}
	r.sinkErr = r.sink.Artifact(a, f)
	if err := root.Remove(name); err != nil && r.sinkErr == nil {
		return fmt.Errorf("artifact %s: %w", a.Name, err)
	}
	return r.sinkErr
}
