package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Level is an instruction set that a loop is written for.
type Level uint8

// The levels, lowest first. A machine that runs one runs all before it.
const (
	Plain  Level = iota // plain Go
	AVX2                // amd64 with AVX2 and FMA
	AVX512              // amd64 with AVX-512 F, BW, DQ and VL
)

var levelNames = [...]string{Plain: "plain", AVX2: "avx2", AVX512: "avx512"}

// String is the name by which SWEEP_KERNEL and results call the level.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// ParseLevel is the level of that name: plain, avx2 or avx512.
func ParseLevel(name string) (Level, error) {
	if l := slices.Index(levelNames[:], name); l >= 0 {
		return Level(l), nil
	}
	return 0, fmt.Errorf("kernel level %q is not known: want one of %s", name, strings.Join(levelNames[:], ", "))
}

// Levels are those that this machine can run, lowest first.
func Levels() []Level {
	levels := make([]Level, 0, len(levelNames))
	for l := Plain; l <= detected; l++ {
		levels = append(levels, l)
	}
	return levels
}

// checkLevel returns an error unless a machine whose highest level is best can run the level.
func checkLevel(l, best Level) error {
	if l > best {
		return fmt.Errorf("kernel level %s cannot run on this machine: its highest is %s", l, best)
	}
	return nil
}

// EnvironmentName is the environment variable that forces a level.
const EnvironmentName = "SWEEP_KERNEL"

// CheckEnvironment returns an error if the value of SWEEP_KERNEL is no level, or not one of
// this machine. The level found on the machine is in use then.
func CheckEnvironment() error { return environmentErr }

var (
	detected                 = detect() // the highest level of this machine
	selected, environmentErr = choose(os.Getenv(EnvironmentName), detected)
)

// choose is the level for a value of SWEEP_KERNEL on a machine whose highest is best.
func choose(value string, best Level) (Level, error) {
	if value == "" {
		return best, nil
	}
	l, err := ParseLevel(value)
	if err == nil {
		err = checkLevel(l, best)
	}
	if err != nil {
		return best, fmt.Errorf("environment variable %s=%s: %w; unset it, or set it to a level of this machine",
			EnvironmentName, value, err)
	}
	return l, nil
}
