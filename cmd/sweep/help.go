package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sweep/model"
	"sweep/model/kernel"
)

// commonSettings are the flags of all commands that each help text shows; "sweep help settings" has them all.
var commonSettings = []string{"data", "home", "log-level", "nats", "store"}

// helpWidth is the number of columns that help texts fill.
const helpWidth = 96

// settingsTopic is the name of the help topic that lists every setting.
const settingsTopic = "settings"

// usageTemplate is cobra's, but with wrapped flags, and a line that leads to the settings.
const usageTemplate = `Usage:{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{else}}
  {{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}

Commands:{{range $cmds}}{{if (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{else}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}

Other commands:{{range $cmds}}{{if (and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Common flags (all: "sweep help settings"):
{{.InheritedFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}{{end}}{{if not .HasParent}}

All settings: "sweep help settings"{{end}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} COMMAND --help" for more information about a command.{{end}}
`

// addHelp shows only the common settings in the help of each command, and adds the topic that has all.
func addHelp(root *cobra.Command) {
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = !slices.Contains(commonSettings, f.Name)
	})
	root.SetUsageTemplate(usageTemplate)
	root.AddCommand(&cobra.Command{Use: settingsTopic, Short: "Every setting: flag, variable and default",
		Long: settingsText(root)})
}

// settingGroups are the titles under which the topic lists settings, and what their names begin with; what fits
// none belongs to daemons.
var settingGroups = []struct {
	title    string
	prefixes []string
}{
	{"State, data and results:", []string{"home", "store", "data", "artifacts", "config", "log-level"}},
	{"Connection to NATS:", []string{"nats"}},
	{"Trainers:", []string{"trainer-"}},
	{"Workers:", []string{"slots", "pool", "name", "grace", "memory", "label", "spool", "script-dir"}},
	{"Coordinators:", []string{"lease", "window", "replicas"}},
	{"Workers and coordinators:", []string{"listen", "pprof", "ack-wait"}},
	{"The dashboard:", []string{"ui", "tokens"}},
}

// settingFlags are the flags of all settings, in the order of settingGroups.
func settingFlags(root *cobra.Command) (groups [][]*pflag.Flag) {
	config, _, err := root.Find([]string{"config"})
	if err != nil {
		panic(err) // it has this command
	}
	groups = make([][]*pflag.Flag, len(settingGroups))
	for _, name := range append([]string{"config"}, settable...) {
		flag := cmp.Or(config.Flags().Lookup(name), root.PersistentFlags().Lookup(name))
		at := slices.IndexFunc(settingGroups, func(g struct {
			title    string
			prefixes []string
		}) bool {
			return slices.ContainsFunc(g.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		})
		groups[at] = append(groups[at], flag)
	}
	return groups
}

// environmentOnly are the variables that have no flag: trainers read them.
var environmentOnly = [][2]string{
	{kernel.EnvironmentName, "kernel level: plain, avx2 or avx512 (default: the best of this machine)"},
	{model.ThreadsEnvironment, "threads of one trial (default 1)"},
	{model.HistoryEnvironment, "memory for the activations of one minibatch, such as 512MiB (default 1GiB)"},
}

func settingsText(root *cobra.Command) string {
	var text strings.Builder
	text.WriteString(`Every setting: flag, variable and default.

A setting is a flag, a variable SWEEP_NAME of the environment, or a line SWEEP_NAME=VALUE of the
settings file. A flag overrides the environment, which overrides the file. "sweep config" prints
the settings in force and where each comes from.

Every command takes the settings of the first three groups. The others belong to "sweep worker",
"sweep coordinator", and the commands that serve the dashboard. Passwords and tokens belong into
the environment or the file: other users can see the flags of a process.
`)
	for i, flags := range settingFlags(root) {
		fmt.Fprintf(&text, "\n%s\n", settingGroups[i].title)
		for _, f := range flags {
			kind, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(&text, "  %-28s %s\n", strings.TrimSpace("--"+f.Name+" "+kind), variable(f.Name))
			writeWrapped(&text, usage+defaultText(f))
		}
	}
	text.WriteString("\nOnly in the environment:\n")
	for _, v := range environmentOnly {
		fmt.Fprintf(&text, "  %s\n", v[0])
		writeWrapped(&text, v[1])
	}
	return text.String()
}

// defaultText tells a flag's default, unless its usage does.
func defaultText(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "[]", "0":
		return ""
	}
	if strings.Contains(f.Usage, "(default") || f.Name == "slots" {
		return ""
	}
	return fmt.Sprintf(" (default %s)", f.DefValue)
}

// writeWrapped writes a paragraph below a name.
func writeWrapped(text *strings.Builder, paragraph string) {
	const margin = "        "
	for line := range strings.SplitSeq(ansi.Wordwrap(paragraph, helpWidth-len(margin), ""), "\n") {
		text.WriteString(margin + strings.TrimRight(line, " ") + "\n")
	}
}
