package model

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
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
	return defaultHistory, fmt.Errorf("environment variable %s=%s: want an amount of memory, as 512MiB or 4GiB",
		HistoryEnvironment, value)
}

func environmentHistory() (int64, error) { return historyOf(os.Getenv(HistoryEnvironment)) }

// ThreadsEnvironment is the environment variable that says how many threads
// train one minibatch. Results do not depend on it, so it is no parameter: a
// grid fills the cores with trials, and only a few large trials need it.
const ThreadsEnvironment = "SWEEP_THREADS"

// threadsOf reads the number of threads from the variable's value; "" is 1.
func threadsOf(value string) (int, error) {
	if value == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 1024 {
		return 1, fmt.Errorf("environment variable %s=%s: want a number of threads from 1 to 1024",
			ThreadsEnvironment, value)
	}
	return n, nil
}

// Threads returns how many threads train a trial: what [ThreadsEnvironment] says, 1
// if it says nothing that makes sense.
func Threads() int {
	n, _ := environmentThreads()
	return n
}

func environmentThreads() (int, error) { return threadsOf(os.Getenv(ThreadsEnvironment)) }
