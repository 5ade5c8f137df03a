package trainertest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ExampleName is the name of the example trainer, which is documented in
// trainertest/example: it minimises a quadratic form, and its parameter "fault"
// makes it fail in all the ways that a worker must survive.
const ExampleName = "quadratic"

// BuildExample builds the example trainer into dir, ready for a Launcher with dir
// in its Path. It needs the go command.
func BuildExample(dir string) error {
	file := filepath.Join(dir, ExampleName)
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	output, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, // half the linker's time
		"sweep/worker/trainer/trainertest/example").CombinedOutput()
	if err != nil {
		return fmt.Errorf("building the example trainer: %w\n%s", err, output)
	}
	return nil
}
