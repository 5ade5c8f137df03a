package model

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"sweep/model/cell"
)

// HistoryEnvironment is the environment variable that says how much memory the
// history of one minibatch may take, as 512MiB or 4GiB. What does not fit is
// computed again in the backward pass, for about a third more time. Results do
// not depend on it.
const HistoryEnvironment = "SWEEP_HISTORY"

// defaultHistory fits two trials beside each other into the memory of a small
// machine: minibatches of 128 pixel-MNIST series take 50 MB (n = 128), an LSTM's
// 308 MB.
const defaultHistory = 1 << 30

// historyOf reads the number of bytes from the variable's value; "" is the default.
func historyOf(value string) (int64, error) {
	if value == "" {
		return defaultHistory, nil
	}
	for unit, shift := range map[string]uint{"MiB": 20, "GiB": 30} {
		if digits, ok := strings.CutSuffix(value, unit); ok {
			if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n > 0 && n <= math.MaxInt64>>shift {
				return n << shift, nil
			}
		}
	}
	return defaultHistory, fmt.Errorf("environment variable %s=%s: want an amount of memory, as 512MiB or 4GiB", HistoryEnvironment, value)
}

func environmentHistory() (int64, error) { return historyOf(os.Getenv(HistoryEnvironment)) }

// historyWidth is the number of values that a cell keeps of a time step and
// series: its state, gates, and the LSTM's memory or the GRU's reset state.
func historyWidth(model string, hidden int) int64 {
	switch model {
	case "lstm":
		return 6 * int64(hidden)
	case "gru":
		return 5 * int64(hidden)
	default:
		return int64(hidden)
	}
}

// historyBytes is the memory for the history of a minibatch if so many steps are
// kept of it, and the state before each such segment.
func (s *settings) historyBytes(limits cell.Limits, kept int) int64 {
	segments := int64(0)
	if kept < limits.Steps {
		segments = int64((limits.Steps + kept - 1) / kept)
	}
	return 4 * int64(limits.Batch) * (int64(kept+1)*historyWidth(s.model, s.hidden) + segments*int64(s.hidden))
}

// keep sets how many steps' history is kept: all that fit into so many bytes. If
// none fit it is the number that takes the least memory, about √T.
func (s *settings) keep(limits cell.Limits, bytes int64) cell.Limits {
	limits.History = limits.Steps
	if s.historyBytes(limits, limits.Steps) <= bytes {
		return limits
	}
	least := int64(math.MaxInt64)
	for kept := limits.Steps - 1; kept > 0; kept-- {
		if need := s.historyBytes(limits, kept); need < least {
			limits.History, least = kept, need
			if need <= bytes {
				break
			}
		}
	}
	return limits
}
