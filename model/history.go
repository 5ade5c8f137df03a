package model

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"sweep/model/kernel"
	"sweep/model/layer"
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

// withHistory sets how many steps' history is kept: all that fit into so many bytes. If
// none fit it is the number that takes the least memory, about √T.
func withHistory[F kernel.Float](l layer.Layer[F], limits layer.Limits, bytes int64) layer.Limits {
	need := func(kept int) int64 {
		limits.History = kept
		return 4 * l.Cost(limits).Values
	}
	best := limits.Steps
	if least := need(best); least > bytes {
		least = math.MaxInt64
		for kept := limits.Steps - 1; kept > 0; kept-- {
			if n := need(kept); n < least {
				best, least = kept, n
				if n <= bytes {
					break
				}
			}
		}
	}
	limits.History = best
	return limits
}
