package script

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Outline is what the source of a Python program says of its parameters and metrics.
type Outline struct {
	Parameters []OutlineParameter `json:"parameters"`
	// Config means that the program takes them from wandb.config, not from its command line.
	Config bool `json:"config"`
	// Metrics are the names that it logs, in the order of the source.
	Metrics []string `json:"metrics"`
	// Hydra is where its configuration file is; nil if it has none.
	Hydra *struct{ Path, Name string } `json:"hydra"`
}

// OutlineParameter is a parameter of a program.
type OutlineParameter struct {
	Name string `json:"name"`
	// Kind is integer, number, text or boolean, "" if the source does not say.
	Kind    string `json:"kind"`
	Default any    `json:"default"`
	Choices []any  `json:"choices"`
	// Flag means that it has no value on the command line.
	Flag     bool   `json:"flag"`
	Required bool   `json:"required"`
	Help     string `json:"help"`
}

//go:embed outline/outline.py
var outlineProgram string

// ReadOutline reads the source of a Python program, with Python's own parser. It does not run the program. Known are
// argparse, click, Hydra, jsonargparse, Fire, Typer and wandb.
func ReadOutline(ctx context.Context, path string) (*Outline, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	python, err := findInterpreter()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, "-I", "-c", outlineProgram)
	var output, problem bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(source), &output, &problem
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s is not read: %s", path, strings.TrimPrefix(telling(problem.String()), "sweep: "))
	}
	var o Outline
	decoder := json.NewDecoder(&output)
	decoder.UseNumber() // 1.0 stays a number with a point
	if err := decoder.Decode(&o); err != nil {
		return nil, fmt.Errorf("%s is not read: %w", path, err)
	}
	return &o, nil
}
