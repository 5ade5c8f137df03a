package script

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"
	"slices"

	"sweep/sweep"
)

// archiveType is the media type of an artifact that is a folder.
const archiveType = "application/x-tar"

// handOver sends the sink the artifacts that the sweep names and the program has written: a
// file as it is, a folder as an archive. The worker reports missing ones; the log says why
// others cannot be stored.
func (e *execution) handOver() error {
	for _, name := range e.request.Artifacts {
		artifact, content, err := openArtifact(filepath.Join(e.artifacts, name))
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				e.say("artifact %s is left out: %v", name, err)
			}
			continue
		}
		if err := e.send(name, artifact, content); err != nil {
			return err
		}
	}
	return e.handOverMedia()
}

func (e *execution) send(name string, artifact sweep.Artifact, content io.ReadCloser) error {
	artifact.Name = name
	err := e.sink.Artifact(artifact, content)
	_ = content.Close() // it was only read
	if err != nil {
		return fmt.Errorf("artifact %s: %w", name, err)
	}
	return nil
}

const (
	// mediaFolder is the folder of a trial's media among its artifacts, mediaIndex the file in it that says
	// what they are.
	mediaFolder = "media"
	mediaIndex  = "index.json"
)

// handOverMedia sends the sink the files of the folder media, the index first. The log says which cannot be
// stored.
func (e *execution) handOverMedia() error {
	folder := filepath.Join(e.artifacts, mediaFolder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			e.say("media are left out: %v", err)
		}
		return nil
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
		switch mediaIndex {
		case a.Name():
			return -1
		case b.Name():
			return 1
		}
		return 0
	})
	if n := len(entries); n > sweep.MaxMedia {
		e.say("of %d media files %d are kept in the artifact store", n, sweep.MaxMedia)
		entries = entries[:sweep.MaxMedia]
	}
	for _, entry := range entries {
		name := sweep.MediaPrefix + entry.Name()
		err := sweep.CheckArtifactName(name)
		if err == nil && !entry.Type().IsRegular() {
			err = errors.New("it is no file")
		}
		var artifact sweep.Artifact
		var content io.ReadCloser
		if err == nil {
			artifact, content, err = openArtifact(filepath.Join(folder, entry.Name()))
		}
		if err != nil {
			e.say("media file %s is left out: %v", entry.Name(), err)
			continue
		}
		if err := e.send(name, artifact, content); err != nil {
			return err
		}
	}
	return nil
}

// openArtifact opens the file, or the archive of the folder, at a path.
func openArtifact(at string) (artifact sweep.Artifact, content io.ReadCloser, err error) {
	at, err = filepath.EvalSymlinks(at)
	if err != nil {
		return artifact, nil, err
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return artifact, nil, err
	case info.IsDir():
		artifact.MediaType = archiveType
		return artifact, newArchive(at), nil
	case !info.Mode().IsRegular():
		return artifact, nil, errors.New("it is neither a file nor a folder")
	}
	artifact.MediaType = mime.TypeByExtension(filepath.Ext(at))
	content, err = os.Open(at)
	return artifact, content, err
}

// archive is a stream of a folder's files, determined by their names and bytes.
type archive struct {
	*io.PipeReader
	done chan struct{}
}

func newArchive(folder string) *archive {
	r, w := io.Pipe()
	a := &archive{r, make(chan struct{})}
	go func() {
		defer close(a.done)
		w.CloseWithError(writeArchive(w, folder))
	}()
	return a
}

// Close stops writing the archive, if it was not read to its end.
func (a *archive) Close() error {
	err := a.PipeReader.Close()
	<-a.done
	return err
}

func writeArchive(to io.Writer, folder string) error {
	w := tar.NewWriter(to)
	files := os.DirFS(folder)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		file, err := files.Open(name)
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: path.Join(filepath.Base(folder), name), Size: info.Size(),
				Mode: 0o644})
		}
		if err == nil {
			_, err = io.CopyN(w, file, info.Size())
		}
		return errors.Join(err, file.Close())
	})
	return errors.Join(err, w.Close())
}
