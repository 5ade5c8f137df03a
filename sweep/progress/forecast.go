package progress

import "time"

// forecast tells when work will be done, from how much of it was done when. Work has any unit.
type forecast struct {
	// grain is the work of one trial: a speed is taken over several of them.
	grain   float64
	samples []sample
}

// sample is how much was done at one moment.
type sample struct {
	at   time.Time
	work float64
}

const (
	// The speed is taken over the last window, and over enoughTrials at least.
	window       = time.Minute
	enoughTrials = 20
	// maxSamples bounds what is remembered: of more every second one goes.
	maxSamples = 256
)

// add adds how much is done. Less work than before, as after a retry, starts again.
func (f *forecast) add(at time.Time, work float64) {
	if n := len(f.samples); n > 0 && work < f.samples[n-1].work-f.grain/2 {
		f.samples = f.samples[:0]
	}
	f.samples = append(f.samples, sample{at, work})
	if len(f.samples) <= maxSamples {
		return
	}
	kept := f.samples[:1]
	for i := 2; i < len(f.samples); i += 2 {
		kept = append(kept, f.samples[i])
	}
	f.samples = kept
}

// skip counts work as done before the first sample: it does not change the speed.
func (f *forecast) skip(work float64) {
	for i := range f.samples {
		f.samples[i].work += work
	}
}

// speed is the work a second, 0 if unknown, and the work that it was measured over.
func (f *forecast) speed() (rate, over float64) {
	if len(f.samples) < 2 {
		return 0, 0
	}
	last := f.samples[len(f.samples)-1]
	base := f.samples[0]
	for _, s := range f.samples {
		if last.at.Sub(s.at) < window || last.work-s.work < enoughTrials*f.grain {
			break
		}
		base = s
	}
	over = last.work - base.work
	if elapsed := last.at.Sub(base.at).Seconds(); elapsed > 0 && over > 0 {
		return over / elapsed, over
	}
	return 0, 0
}

// left is the time in seconds for the remaining work at the measured speed or, until the work of two
// trials a slot was measured, at the expected one (0 if unknown): what a running trial has done is a guess until
// it ends, and then the work leaps. It is 0 if neither is known.
func (f *forecast) left(remaining, expected float64, slots int64) float64 {
	rate, over := f.speed()
	if expected > 0 && over < 2*float64(slots)*f.grain {
		rate = expected
	}
	if rate <= 0 || remaining <= 0 {
		return 0
	}
	return remaining / rate
}
