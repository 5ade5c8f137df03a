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
//go:embed python/*.py python/command python/wandb/*.py python/wandb/*/*.py python/wandb/*/*/*.py python/*.dist-info/METADATA
var standIn embed.FS

// CommandFolder is the folder of the stand-in that has the command wandb, to be put on PATH.
const CommandFolder = "command"

// WriteStandIn writes the stand-in for Python's wandb into a folder, to be put on PYTHONPATH.
func WriteStandIn(folder string) error {
	files, err := fs.Sub(standIn, "python")
	if err == nil {
		err = os.CopyFS(folder, files)
	}
	if err == nil {
		err = os.Chmod(filepath.Join(folder, CommandFolder, "wandb"), 0o755)
	}
	if err != nil {
		return fmt.Errorf("the stand-in for wandb: %w", err)
	}
	return nil
}

// makeStandIn writes the stand-in into a new temporary folder.
func makeStandIn() (folder string, err error) {
	if folder, err = os.MkdirTemp("", "wandb-"); err == nil {
		err = WriteStandIn(folder)
	}
	return folder, err
}
