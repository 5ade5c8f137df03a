package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"sweep/sweep"
)

// download copies an artifact to a file, which appears when it is complete. If it is interrupted,
// the part is kept beside the file, and the next download resumes there.
func download(ctx context.Context, from target, id sweep.TrialID,
	name, path string) (r *sweep.ArtifactRecord, err error) {
	err = from.Artifacts(ctx, sweep.ArtifactQuery{Sweep: id.Sweep, Indices: []int64{id.Index}, Name: name},
		func(found *sweep.ArtifactRecord) error {
			r = found
			return nil
		})
	if err == nil && (r == nil || r.Digest == "") { // it says why there is none
		r, err = from.Artifact(ctx, id, name, 0, io.Discard)
	}
	if err != nil {
		return nil, err
	}
	p, err := openPartial(path, r)
	if err != nil {
		return nil, fmt.Errorf("artifact %s/%s: %w", id, name, err)
	}
	defer func() { _ = unlock(p.file) }() // after finish it is closed
	for {
		had := p.size
		if _, err := from.Artifact(ctx, id, name, had, p); err != nil {
			return nil, p.leave(err)
		}
		if p.isWhole() {
			return r, p.finish()
		}
		if had == 0 {
			return nil, p.leave(&sweep.DamagedError{Artifact: id.String() + "/" + name, Store: "the downloaded file",
				Problem: "its digest does not match"})
		}
		if err := p.empty(); err != nil { // the part belonged to other contents
			return nil, p.leave(err)
		}
	}
}

// partial is the part of an artifact that has come so far.
type partial struct {
	path   string // that of the whole
	record *sweep.ArtifactRecord
	file   *os.File
	digest hash.Hash
	size   int64
}

// openPartial opens what there is of an artifact beside its file, or makes it.
func openPartial(path string, r *sweep.ArtifactRecord) (*partial, error) {
	at := path + "." + r.Digest[:12] + ".part"
	before, err := os.Lstat(at)
	if err == nil && !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is in the way: expected a regular file with the part downloaded so far", at)
	}
	f, err := os.OpenFile(at, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	p := &partial{path: path, record: r, file: f, digest: sha256.New()}
	if err := p.take(before); err != nil {
		return nil, errors.Join(err, unlock(f))
	}
	return p, nil
}

// take makes the file this process's alone, and reads it. before is what it was
// when it was looked at, nil if there was none.
func (p *partial) take(before os.FileInfo) error {
	taken, err := tryLock(p.file)
	if err != nil {
		return err
	}
	now, err := p.file.Stat()
	switch {
	case err != nil:
		return err
	case !taken:
		return fmt.Errorf("another process is downloading it to %s: wait for it", p.file.Name())
	case before != nil && !os.SameFile(before, now):
		return fmt.Errorf("%s was replaced meanwhile: try again", p.file.Name())
	}
	if p.size, err = io.Copy(p.digest, p.file); err == nil && p.size > p.record.Size {
		err = p.empty()
	}
	return err
}

// Write implements io.Writer: it appends.
func (p *partial) Write(b []byte) (int, error) {
	if p.size+int64(len(b)) > p.record.Size {
		return 0, fmt.Errorf("received more than its %d bytes", p.record.Size)
	}
	n, err := p.file.Write(b)
	p.digest.Write(b[:n])
	p.size += int64(n)
	return n, err
}

// isWhole reports whether it is the artifact.
func (p *partial) isWhole() bool {
	return p.size == p.record.Size && hex.EncodeToString(p.digest.Sum(nil)) == p.record.Digest
}

// empty begins anew.
func (p *partial) empty() error {
	p.digest.Reset()
	p.size = 0
	_, err := p.file.Seek(0, io.SeekStart)
	return errors.Join(err, p.file.Truncate(0))
}

// finish gives the whole its name.
func (p *partial) finish() error {
	if err := unlock(p.file); err != nil {
		return err
	}
	return os.Rename(p.file.Name(), p.path)
}

// leave is an error after which the part is kept, if it is of use.
func (p *partial) leave(err error) error {
	if p.size > 0 && !errors.As(err, new(*sweep.LostError)) && !errors.As(err, new(*sweep.DamagedError)) {
		return fmt.Errorf("%w; %s of %s are in %s: run the same command again to resume",
			err, sweep.SizeText(p.size), sweep.SizeText(p.record.Size), p.file.Name())
	}
	return errors.Join(err, os.Remove(p.file.Name()))
}
