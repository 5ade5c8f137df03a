// Command gen writes the assembly of package kernel: one file of functions for
// each SIMD level, and one of their Go declarations. Run it by
//
//	go generate ./model/kernel
//
// It is a module of its own, so that the trainer does not depend on avo. What it
// writes is checked in; running it again must change nothing.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	flags := flag.NewFlagSet("gen", flag.ExitOnError) // avo has the default set for itself
	out := flags.String("out", "..", "folder of package kernel")
	if err := flags.Parse(os.Args[1:]); err != nil {
		os.Exit(2)
	}
	if err := generate(*out); err != nil {
		fmt.Fprintf(os.Stderr, "gen: %v\n", err)
		os.Exit(1)
	}
}

// generate writes the files of all levels into dir.
func generate(dir string) error {
	for _, m := range []*machine{newMachine("AVX2", 8), newMachine("AVX512", 16)} {
		if err := write(m, dir); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// write generates all functions of a machine into dir.
func write(m *machine, dir string) error {
	m.products()
	m.elementwise()
	m.reductions()
	m.reflectors()
	m.gates()
	m.transpose()
	m.peak()
	file, err := m.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	if err := m.verify(file); err != nil {
		return err
	}
	config := printer.Config{Name: "sweep/model/kernel/gen", Pkg: "kernel"}
	base := filepath.Join(dir, strings.ToLower(m.name)+"_amd64")
	for suffix, p := range map[string]printer.Printer{".s": printer.NewGoAsm(config), ".go": printer.NewStubs(config)} {
		text, err := p.Print(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(base+suffix, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
