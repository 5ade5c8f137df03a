package dataset

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// channelOf returns the values of a channel of a part.
func channelOf(p *Part, channel, channels int) (values []float64) {
	for i := channel; i < len(p.Values); i += channels {
		values = append(values, float64(p.Values[i]))
	}
	return values
}

// Each channel is scaled by its own mean and deviation in the training part, and the test part by the same; the digest is
// that of the data as they are.
func TestNormalize(t *testing.T) {
	for name, channels := range map[string]int{GeneratedHAR2: harChannels, GeneratedCBF: 1} {
		raw, err := Open("", Reference{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		scaled, err := NewCache(1).Open("", Reference{Name: name, Normalization: NormalizeChannel})
		if err != nil {
			t.Fatal(err)
		}
		if raw.Digest != scaled.Digest {
			t.Errorf("%s: the digest changes", name)
		}
		for c := range channels {
			mean, variance := stat.PopMeanVariance(channelOf(&raw.Train, c, channels), nil)
			for part, before := range map[*Part]*Part{&scaled.Train: &raw.Train, &scaled.Test: &raw.Test} {
				was := channelOf(before, c, channels)
				for i, v := range channelOf(part, c, channels) {
					if want := (was[i] - mean) / math.Sqrt(variance); math.Abs(v-want) > 1e-6*(1+math.Abs(want)) {
						t.Fatalf("%s, channel %d: %v becomes %v, want %v", name, c, was[i], v, want)
					}
				}
			}
		}
	}
}

// A channel that is constant in training is moved alone.
func TestNormalizeConstant(t *testing.T) {
	s := &Set{Channels: 2, Train: Part{N: 1, Values: []float32{3, 1, 3, 5}}, Test: Part{N: 1, Values: []float32{4, 3, 3, 7}}}
	s.prepare(NormalizeChannel, MissingPrevious)
	if want := []float32{0, -1, 0, 1}; !slices.Equal(s.Train.Values, want) {
		t.Errorf("training values %v, want %v", s.Train.Values, want)
	}
	if want := []float32{1, 0, 0, 2}; !slices.Equal(s.Test.Values, want) {
		t.Errorf("test values %v, want %v", s.Test.Values, want)
	}
}

// Pixels stay bytes, which are read as what they are scaled to.
func TestNormalizeBytes(t *testing.T) {
	raw := []uint8{0, 0, 51, 255, 102, 204}
	s := &Set{Train: Part{N: 2, Bytes: raw}, Test: Part{N: 1, Bytes: raw[:3]}}
	s.prepare(NormalizeChannel, MissingPrevious)
	var pixels []float64
	for _, b := range raw {
		pixels = append(pixels, float64(b)/255)
	}
	mean, variance := stat.PopMeanVariance(pixels, nil)
	for _, part := range []*Part{&s.Train, &s.Test} {
		sequences, err := Arrange(part, OrderPieces, 3, 1)
		if err != nil {
			t.Fatal(err)
		}
		for row := range part.N {
			x := make([]float32, 3)
			sequences.Gather(x, []int{row})
			for i, v := range x {
				if want := (pixels[3*row+i] - mean) / math.Sqrt(variance); math.Abs(float64(v)-want) > 1e-6 {
					t.Errorf("pixel %d of row %d is %v, want %v", i, row, v, want)
				}
			}
		}
	}
}

// The archive's channels have mean 0 and deviation 1 in training, and about that in the test.
func TestNormalizeHAR2(t *testing.T) {
	dir := realData(t)
	if _, err := os.Stat(filepath.Join(dir, "har")); err != nil {
		t.Skipf("left out: the real data have no har: %v", err)
	}
	s, err := Open(dir, Reference{Name: HAR2, Normalization: NormalizeChannel})
	if err != nil {
		t.Fatal(err)
	}
	for c := range harChannels {
		mean, variance := stat.PopMeanVariance(channelOf(&s.Train, c, harChannels), nil)
		tested, spread := stat.PopMeanVariance(channelOf(&s.Test, c, harChannels), nil)
		if math.Abs(mean) > 1e-4 || math.Abs(variance-1) > 1e-4 || math.Abs(tested) > .3 || math.Abs(spread-1) > .5 {
			t.Errorf("channel %d: mean %v, variance %v in training; %v, %v in the test", c, mean, variance, tested, spread)
		}
	}
}
