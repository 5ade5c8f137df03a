package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/model/kernel"
	"sweep/sweep"
)

// buildVersion is what this program is, by its own build.
type buildVersion struct {
	// Version is the module's, or "devel"; Commit, Time and Modified are of the working
	// copy that it was built from, if the builder saw one.
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	// Trainer is the built-in trainer's version, ResultVersion that of its results.
	Trainer       string `json:"trainer"`
	ResultVersion string `json:"result_version"`
	Go            string `json:"go"`
	Platform      string `json:"platform"`
	Kernels       string `json:"kernels"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the program's version and commit, and the kernel level of this machine",
		Long: `The output also has the version of the built-in trainer and of its results. The bits of
results depend on the kernel level.

Exit codes: 0 done, 1 SWEEP_KERNEL names a level that this machine does not have.`,
		Example: "  sweep version\n  sweep version --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := kernel.CheckEnvironment(); err != nil {
				return err
			}
			builtin, err := model.NewTrainer()
			if err != nil {
				return err
			}
			trainer, err := builtin.Describe(cmd.Context())
			if err != nil {
				return err
			}
			info, _ := debug.ReadBuildInfo()
			v := versionOf(info, trainer)
			if asJSON {
				return writeJSON(cmd, v)
			}
			fmt.Fprintln(cmd.OutOrStdout(), v)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// versionOf reads the build information, which may be nil.
func versionOf(info *debug.BuildInfo, trainer *sweep.Description) buildVersion {
	v := buildVersion{
		Version: "devel", Trainer: trainer.Version, ResultVersion: trainer.ResultVersion,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Kernels: kernel.Float32().Level().String(),
	}
	if info == nil {
		return v
	}
	if main := info.Main.Version; main != "" && main != "(devel)" {
		v.Version = main
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// String is the version in one line.
func (v buildVersion) String() string {
	text := "sweep " + v.Version
	if v.Commit != "" {
		text += fmt.Sprintf(", commit %.12s of %.10s", v.Commit, v.Time)
		if v.Modified {
			text += " with changes"
		}
	}
	return fmt.Sprintf("%s, trainer %s with results of version %s, %s %s, kernels %s", text, v.Trainer, v.ResultVersion,
		v.Go, v.Platform, v.Kernels)
}
