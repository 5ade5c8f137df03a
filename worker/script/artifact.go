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
		artifact.Name = name
		err = e.sink.Artifact(artifact, content)
		_ = content.Close() // it was only read
		if err != nil {
			return fmt.Errorf("artifact %s: %w", name, err)
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
