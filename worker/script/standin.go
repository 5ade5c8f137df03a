package script

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// standIn is the package wandb for Python that is first on PYTHONPATH.
//
//go:embed python/wandb/*.py python/wandb/*/*.py python/wandb/*/*/*.py python/*.dist-info/METADATA
var standIn embed.FS

// WriteStandIn writes the stand-in for Python's wandb into a folder, to be put on PYTHONPATH.
func WriteStandIn(folder string) error {
	files, err := fs.Sub(standIn, "python")
	if err == nil {
		err = os.CopyFS(folder, files)
	}
	if err != nil {
		return fmt.Errorf("the stand-in for wandb: %w", err)
	}
	return nil
}

// standInFolder returns the folder with the stand-in, which all trials of this process share.
func (t *Trainer) standInFolder() (string, error) {
	t.once.Do(func() {
		if t.standIn, t.standInErr = os.MkdirTemp("", "wandb-"); t.standInErr == nil {
			t.standIn = filepath.Clean(t.standIn)
			t.standInErr = WriteStandIn(t.standIn)
		}
	})
	return t.standIn, t.standInErr
}
