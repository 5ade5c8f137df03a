package script

import (
	"slices"
	"strings"
)

// ranks are the variables by which launchers tell the processes of one training apart. The first that is set counts.
var ranks = []string{"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"}

// outerRanks returns those that a trial's program has from the worker's own launcher, as NAME=VALUE: its processes do
// not differ in them.
func outerRanks(e environment) string {
	var outer []string
	for _, name := range ranks {
		if value, ok := e[name]; ok {
			outer = append(outer, name+"="+value)
		}
	}
	return strings.Join(outer, ",")
}

// environment has the values of a program's variables.
type environment map[string]string

// hidden are the variables that programs do not see, by their beginnings.
var hidden = []string{"PLUGIN_", "SWEEP_TRAINER="}

func newEnvironment(from []string) environment {
	e := environment{}
	for _, entry := range from {
		if !slices.ContainsFunc(hidden, func(prefix string) bool { return strings.HasPrefix(entry, prefix) }) {
			name, value, _ := strings.Cut(entry, "=")
			e[name] = value
		}
	}
	return e
}

func (e environment) lookup(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

// list returns the variables as NAME=VALUE.
func (e environment) list() (entries []string) {
	for name, value := range e {
		entries = append(entries, name+"="+value)
	}
	slices.Sort(entries)
	return entries
}
