// Package devicetest is a machine with GPUs that there are not: a stand-in for nvidia-smi.
//
//	gpus := devicetest.New(t, 4)
//	t.Setenv("PATH", gpus.Bin+":"+os.Getenv("PATH"))
//	gpus.Use(os.Getpid(), 2, 1000) // a process uses 1000 MiB of GPU 2
package devicetest

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

//go:embed nvidia-smi.sh
var script string

// GPUs is the state of a stand-in.
type GPUs struct {
	t testing.TB
	// Bin is the folder of the program, State that of its state; see nvidia-smi.sh.
	Bin, State string
	// Name begins the names of the cards, GPU-NAME-0 and so on: those of two tests differ.
	Name string
}

// New makes a stand-in with a number of cards of 80 GiB.
func New(t testing.TB, cards int) *GPUs {
	t.Helper()
	dir := t.TempDir()
	g := &GPUs{t: t, Bin: filepath.Join(dir, "bin"), State: filepath.Join(dir, "state"),
		Name: fmt.Sprintf("%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))}
	for _, path := range []string{g.Bin, filepath.Join(g.State, "apps")} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := strings.ReplaceAll(script, "'STATE'", "'"+g.State+"'")
	if err := os.WriteFile(filepath.Join(g.Bin, "nvidia-smi"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for i := range cards {
		rows = append(rows, fmt.Sprintf("%d|%s|81920|3|Disabled|NVIDIA A100-SXM4-80GB", i, g.ID(i)))
	}
	g.Set("cards", strings.Join(rows, "\n")+"\n")
	return g
}

// ID is the UUID of a card.
func (g *GPUs) ID(card int) string { return fmt.Sprintf("GPU-%s-%d", g.Name, card) }

// Set writes a file of the state, Unset removes it.
func (g *GPUs) Set(name, text string) {
	g.t.Helper()
	path := filepath.Join(g.State, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		g.t.Fatal(err)
	}
}

// Unset removes a file of the state.
func (g *GPUs) Unset(name string) {
	g.t.Helper()
	if err := os.Remove(filepath.Join(g.State, name)); err != nil {
		g.t.Fatal(err)
	}
}

// Use has a process use some MiB of a card for as long as it lives.
func (g *GPUs) Use(pid, card, mebibytes int) {
	g.t.Helper()
	g.Set(filepath.Join("apps", strconv.Itoa(pid)), fmt.Sprintf("%s %d\n", g.ID(card), mebibytes))
}
