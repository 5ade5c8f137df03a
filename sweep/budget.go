package sweep

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Budget bounds what the trials of a sweep may use, or those of all sweeps that share it.
type Budget struct {
	// Name is that of a budget that several sweeps share; "" is the sweep's own.
	Name string `json:"name,omitempty"`
	// Trials is how many trials may run to an end, 0 if there is no bound. Reused results cost nothing.
	Trials int64 `json:"trials,omitempty"`
	// Time is how long executions may take together, those that end without a result included, 0 if there is
	// no bound. An execution has one slot of a worker, which is meant to be a core.
	Time time.Duration `json:"time,omitempty"`
}

// BudgetState is a budget and what was used of it.
type BudgetState struct {
	Budget
	// Number is the store's.
	Number int64 `json:"-"`
	// SpentTrials counts trials that ran to an end, SpentTime adds up their executions. Active is how many trials
	// are queued or running.
	SpentTrials int64         `json:"spent_trials"`
	SpentTime   time.Duration `json:"spent_time"`
	Active      int64         `json:"active,omitempty"`
}

// Spent reports whether a budget is used up.
func (b *BudgetState) Spent() bool {
	return b.Trials > 0 && b.SpentTrials >= b.Trials || b.Time > 0 && b.SpentTime >= b.Time
}

// Free is how many further trials may be queued, -1 if there is no bound.
func (b *BudgetState) Free() int64 {
	switch {
	case b.Spent():
		return 0
	case b.Trials == 0:
		return -1
	}
	return max(b.Trials-b.SpentTrials-b.Active, 0)
}

// BudgetReason begins the reason of sweeps that are paused because their budget is used up.
const BudgetReason = "the budget of "

// maxBudget bounds the trials of a budget.
const maxBudget = 1_000_000_000

// check refuses values that make no sense.
func (b *Budget) check() error {
	if b.Trials < 0 || b.Trials > maxBudget || b.Time < 0 || b.Time > 0 && b.Time < time.Second {
		return fmt.Errorf("budget of %d trials and %v: expected up to %d trials, and a second or more", b.Trials,
			b.Time, maxBudget)
	}
	return CheckText("budget", b.Name, false)
}

// String is the budget as ParseBudget reads it.
func (b Budget) String() string {
	var parts []string
	if b.Trials > 0 {
		parts = append(parts, CountText(b.Trials, "trial"))
	}
	if b.Time > 0 {
		parts = append(parts, shortDuration(b.Time))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// shortDuration is a duration without units that are zero.
func shortDuration(d time.Duration) string {
	text := d.String()
	text = strings.TrimSuffix(text, "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	if text == "" || strings.ContainsAny(text[len(text)-1:], "0123456789.") {
		return d.String()
	}
	return text
}

// ParseBudget reads a budget such as "200 trials", "3h" or "200 trials, 3h"; "none" is no bound.
func ParseBudget(text string) (b Budget, err error) {
	if strings.TrimSpace(text) == "none" {
		return b, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		count, isTrials := strings.CutSuffix(part, "trials")
		if !isTrials {
			count, isTrials = strings.CutSuffix(part, "trial")
		}
		var wrong error
		switch {
		case isTrials && b.Trials == 0:
			b.Trials, wrong = strconv.ParseInt(strings.TrimSpace(count), 10, 64)
			isTrials = b.Trials > 0
		case !isTrials && b.Time == 0:
			b.Time, wrong = time.ParseDuration(part)
			isTrials = b.Time > 0
		default:
			isTrials = false
		}
		if wrong != nil || !isTrials {
			return Budget{}, fmt.Errorf("budget %.40q: expected a number of trials, a time, or both, as in "+
				"\"200 trials\", 3h or \"200 trials, 3h\"", text)
		}
	}
	return b, b.check()
}
