package progress

import (
	"math"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestForecastLeft(t *testing.T) {
	for _, c := range []struct {
		name                       string
		grain                      float64
		work                       func(second int) float64
		seconds                    int
		remaining, expected, wants float64
	}{
		{"nothing happened, nothing known", 1, func(int) float64 { return 0 }, 100, 50, 0, 0},
		{"nothing happened, a speed expected", 1, func(int) float64 { return 0 }, 100, 50, 2, 25},
		{"one a second", 1, func(s int) float64 { return float64(s) }, 100, 50, 0, 50},
		{"the measured speed exceeds the expected", 1, func(s int) float64 { return float64(s) }, 100, 50, 1000, 50},
		{"less than a trial was seen: the expected speed", 1000, func(s int) float64 {
			return float64(s)
		}, 100, 50, 5, 10},
		{"a trial ended that was larger than was thought: the expected speed", 100, func(s int) float64 {
			return 190 * math.Floor(float64(s)/10)
		}, 10, 100, 10, 10},
		{"it became slower: the last minute counts", 1, func(s int) float64 {
			return min(float64(10*s), 3000+float64(s-300))
		}, 1000, 600, 0, 600},
		{"few long trials: the whole time counts", 100, func(s int) float64 {
			return 100 * math.Floor(float64(s)/300)
		}, 1500, 300, 0, 900},
		{"nothing remains", 1, func(s int) float64 { return float64(s) }, 100, 0, 1, 0},
	} {
		f := forecast{grain: c.grain}
		for s := range c.seconds + 1 {
			f.add(start.Add(time.Duration(s)*time.Second), c.work(s))
		}
		if got := f.left(c.remaining, c.expected, 1); math.Abs(got-c.wants) > 0.1*c.wants {
			t.Errorf("%s: %.1f s left, want %.1f", c.name, got, c.wants)
		}
		if len(f.samples) > maxSamples {
			t.Errorf("%s: %d samples are kept", c.name, len(f.samples))
		}
	}
}

// A retry takes work back: what was measured before counts no more.
func TestForecastAfterRetry(t *testing.T) {
	f := forecast{grain: 1}
	for s := range 50 {
		f.add(start.Add(time.Duration(s)*time.Second), float64(10*s))
	}
	for s := range 50 {
		f.add(start.Add(time.Duration(50+s)*time.Second), float64(s))
	}
	if got := f.left(100, 0, 1); math.Abs(got-100) > 1 {
		t.Errorf("%.1f s left, want 100", got)
	}
}
