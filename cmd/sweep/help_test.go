package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The help of every command shows the common settings and no others; the topic has all of them, with variable
// and meaning.
func TestSettingsHelp(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	root := newRoot()
	topic, stderr, code := output(t, t.TempDir(), "help", "settings")
	if code != 0 {
		t.Fatal(stderr)
	}
	listed := map[string]bool{}
	for _, name := range append([]string{"config"}, settable...) {
		listed[name] = true
		if !strings.Contains(topic, "--"+name+" ") || !strings.Contains(topic, " "+variable(name)+"\n") {
			t.Errorf("the topic lacks %s", name)
		}
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !listed[f.Name] {
			t.Errorf("the topic lacks --%s", f.Name)
		}
	})
	for line := range strings.Lines(topic) {
		if len([]rune(line)) > 100 {
			t.Errorf("more than 100 columns: %s", line)
		}
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.IsAvailableCommand() && cmd != root {
			usage := cmd.UsageString()
			_, shown, _ := strings.Cut(usage, "Common flags")
			for _, name := range []string{"--data DIR", "--home DIR", "--log-level LEVEL", "--nats SERVERS",
				"--store DATABASE", "sweep help settings"} {
				if !strings.Contains(shown, name) {
					t.Errorf("%s: the help lacks %s", cmd.CommandPath(), name)
				}
			}
			if strings.Contains(shown, "--nats-creds") || strings.Contains(shown, "--trainer-path") {
				t.Errorf("%s: the help shows settings that are not common", cmd.CommandPath())
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}
