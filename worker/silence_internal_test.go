package worker

import (
	"testing"
	"testing/synctest"
	"time"

	"sweep/sweep"
)

// busy is a process that does what a test says.
type busy struct {
	sweep.Process
	log       int64
	processor time.Duration
}

func (b *busy) Log(int64) (text string, start, end int64) { return "", 0, b.log }
func (b *busy) Processor() time.Duration                  { return b.processor }

// A trial is silent when it reports and writes nothing and uses no processor. Each of the three is a sign of life, and
// signs of life of a process that waits are none.
func TestSilence(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Minute
	for name, c := range map[string]struct {
		do     func(p *busy, sent *int64)
		silent bool
	}{
		"nothing":          {func(*busy, *int64) {}, true},
		"a metric":         {func(_ *busy, sent *int64) { *sent++ }, false},
		"a line":           {func(p *busy, _ *int64) { p.log++ }, false},
		"computation":      {func(p *busy, _ *int64) { p.processor += 5 * time.Second }, false},
		"timers that tick": {func(p *busy, _ *int64) { p.processor += 200 * time.Millisecond }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s silence
				var sent int64
				p := &busy{processor: time.Minute}
				for minute := range 30 {
					for range 60 {
						if s.passed(p, sent, limit) {
							if !c.silent || minute < 10 {
								t.Fatalf("ended after %d minutes", minute)
							}
							return
						}
						time.Sleep(time.Second)
					}
					c.do(p, &sent)
				}
				if c.silent {
					t.Error("not ended")
				}
			})
		})
	}
}
