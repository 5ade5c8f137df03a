package sweep

import (
	"testing"
	"time"
)

func TestParseBudget(t *testing.T) {
	for text, want := range map[string]Budget{
		"200 trials":        {Trials: 200},
		"1trial":            {Trials: 1},
		"3h":                {Time: 3 * time.Hour},
		"200 trials, 90m":   {Trials: 200, Time: 90 * time.Minute},
		"1h30m20s,5 trials": {Trials: 5, Time: time.Hour + 30*time.Minute + 20*time.Second},
		"none":              {},
	} {
		got, err := ParseBudget(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if again, err := ParseBudget(got.String()); err != nil || again != want {
			t.Errorf("%q shown as %q: %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "200", "-1 trials", "0 trials", "0s", "1ms", "3h, 2h", "3 trials, 2 trials", "many trials",
		"3h,", "99999999999 trials", "9999999999999999999999 trials"} {
		if got, err := ParseBudget(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for budget, want := range map[Budget]string{
		{Time: 10 * time.Second}: "10s", {Time: 10 * time.Minute}: "10m", {Time: 10 * time.Hour}: "10h",
		{Trials: 1, Time: time.Hour + 100*time.Second}: "1 trial, 1h1m40s",
	} {
		if got := budget.String(); got != want {
			t.Errorf("%+v is %q, want %q", budget, got, want)
		}
	}
}
