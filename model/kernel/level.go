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

// LevelError is the error of a level that this machine cannot run.
type LevelError struct {
	Level Level // the level asked for
	Best  Level // the highest that this machine can run
}

func (e *LevelError) Error() string {
	return fmt.Sprintf("kernel level %s cannot run on this machine: its highest is %s", e.Level, e.Best)
}

// EnvironmentName is the environment variable that forces a level.
const EnvironmentName = "SWEEP_KERNEL"

// EnvironmentError is the error of a value of SWEEP_KERNEL that is not a level,
// or not one of this machine.
type EnvironmentError struct {
	Value string // what the variable holds
	Err   error  // why it cannot be used
}

func (e *EnvironmentError) Error() string {
	return fmt.Sprintf("environment variable %s=%s: %v; unset it, or set it to a level of this machine",
		EnvironmentName, e.Value, e.Err)
}

func (e *EnvironmentError) Unwrap() error { return e.Err }

// CheckEnvironment reports a value of SWEEP_KERNEL that cannot be used, as an
// [*EnvironmentError]. The level found on the machine is in use then.
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
	if err == nil && l > best {
		err = &LevelError{Level: l, Best: best}
	}
	if err != nil {
		return best, &EnvironmentError{Value: value, Err: err}
	}
	return l, nil
}
