package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newManual() *cobra.Command {
	return &cobra.Command{
		Use:   "manual DIRECTORY",
		Short: "Write man pages of all commands and the shells' completions",
		Long: `The man pages go into DIRECTORY/man1, the completions for bash, zsh, fish and
PowerShell into DIRECTORY/completions. "make docs" runs this command.

Exit codes: 0 done, 1 they cannot be written.`,
		Example: `  sweep manual ~/.local/share/man && man sweep-run
  sweep manual bin/docs && source bin/docs/completions/sweep.bash`,
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(cmd *cobra.Command, args []string) error { return writeManual(cmd.Root(), args[0]) },
	}
}

func writeManual(root *cobra.Command, directory string) error {
	for _, name := range []string{"man1", "completions"} {
		if err := os.MkdirAll(filepath.Join(directory, name), 0o755); err != nil {
			return err
		}
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if err := writePages(root, filepath.Join(directory, "man1")); err != nil {
		return err
	}
	for name, generate := range map[string]func(path string) error{
		"sweep.bash": func(path string) error { return root.GenBashCompletionFileV2(path, true) },
		"_sweep":     root.GenZshCompletionFile,
		"sweep.fish": func(path string) error { return root.GenFishCompletionFile(path, true) },
		"sweep.ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		if err := generate(filepath.Join(directory, "completions", name)); err != nil {
			return fmt.Errorf("completion %s: %w", name, err)
		}
	}
	return nil
}

// writePages writes the page of a command and those of its subcommands.
func writePages(cmd *cobra.Command, directory string) error {
	if cmd.Hidden || cmd.Name() == "help" {
		return nil
	}
	for _, sub := range cmd.Commands() {
		if err := writePages(sub, directory); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(directory, pageName(cmd)+".1"), []byte(manPage(cmd)), 0o644)
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the page of a command in the macros of man(7). It has no date, so that
// the same program gives the same pages.
func manPage(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var page strings.Builder
	fmt.Fprintf(&page, ".TH %s 1 \"\" \"sweep\" \"User Commands\"\n", strings.ToUpper(roffWord(pageName(cmd))))
	section := func(title string) { fmt.Fprintf(&page, ".SH %s\n", title) }
	section("NAME")
	fmt.Fprintf(&page, "%s \\- %s\n", roffWord(pageName(cmd)), roff(cmd.Short))
	topic := cmd.IsAdditionalHelpTopicCommand()
	if !topic {
		section("SYNOPSIS")
		fmt.Fprintf(&page, ".B %s\n", roff(cmd.UseLine()))
	}
	if cmd.Long != "" {
		section("DESCRIPTION")
		verbatim(&page, cmd.Long)
	}
	if cmd.Example != "" {
		section("EXAMPLES")
		verbatim(&page, cmd.Example)
	}
	options := func(title string, flags *pflag.FlagSet) {
		if !flags.HasAvailableFlags() {
			return
		}
		section(title)
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			kind, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(&page, ".TP\n.B %s\n%s", roff(strings.TrimSpace(name+" "+kind)), roff(usage))
			if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" &&
				!strings.Contains(usage, "default") {
				fmt.Fprintf(&page, " (default %s)", roff(f.DefValue))
			}
			page.WriteString("\n")
		})
	}
	if !topic {
		options("OPTIONS", cmd.NonInheritedFlags())
		options("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	}
	var also []string
	refer := func(to *cobra.Command) { also = append(also, ".BR "+roffWord(pageName(to))+" (1)") }
	if cmd.HasParent() {
		refer(cmd.Parent())
	}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			refer(sub)
		}
	}
	if settings, _, err := cmd.Root().Find([]string{settingsTopic}); err == nil && cmd.HasParent() && !topic {
		refer(settings)
	}
	if len(also) > 0 {
		section("SEE ALSO")
		page.WriteString(strings.Join(also, ",\n") + "\n")
	}
	return page.String()
}

// verbatim writes lines as they are.
func verbatim(page *strings.Builder, text string) {
	page.WriteString(".nf\n")
	for line := range strings.Lines(text) {
		page.WriteString(roff(strings.TrimRight(line, "\n")) + "\n")
	}
	page.WriteString(".fi\n")
}

// roff escapes what man's language would take for its own.
func roff(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = strings.ReplaceAll(text, "-", `\-`)
	text = strings.ReplaceAll(text, "\n", " ")
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// roffWord escapes a name.
func roffWord(name string) string { return strings.ReplaceAll(name, "-", `\-`) }
