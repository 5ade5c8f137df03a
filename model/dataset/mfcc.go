package dataset

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// The frames of a clip of one second and their coefficients: 98 · 40 = 3920 numbers.
const (
	mfccWindow = 480 // samples, 30 ms
	mfccHop    = 160 // 10 ms
	mfccPoints = 512 // of the Fourier transform
	mfccCount  = 40  // coefficients, of as many mel bands
	mfccFrames = 1 + (wavRate-mfccWindow)/mfccHop
	mfccLength = mfccFrames * mfccCount

	mfccLowest, mfccHighest = 20., 4000. // Hz
	mfccFloor               = 1e-12      // of a band, before its logarithm
)

// mfcc computes mel-frequency cepstral coefficients as TensorFlow's tutorial on this data set does with its operations
// AudioSpectrogram and Mfcc: of each window, weighted by a periodic Hann window, the magnitudes of the spectrum are
// summed in 40 triangles that overlap by half on the mel scale from 20 to 4000 Hz; the coefficients are the DCT-II of
// the bands' logarithms. Samples are in [−1, 1).
type mfcc struct {
	fft      *fourier.FFT
	hann     [mfccWindow]float64
	frame    [mfccPoints]float64
	spectrum []complex128
	// Each bin of the spectrum is in the falling half of one band's triangle, by its weight, and in the rising half of
	// the next one's, by the rest.
	band    []int
	weight  []float64
	cosines [mfccCount][mfccCount]float64
}

func mel(hertz float64) float64 { return 1127 * math.Log1p(hertz/700) }

func newMFCC() *mfcc {
	m := &mfcc{fft: fourier.NewFFT(mfccPoints), spectrum: make([]complex128, mfccPoints/2+1)}
	for i := range m.hann {
		m.hann[i] = .5 - .5*math.Cos(2*math.Pi*float64(i)/mfccWindow)
	}
	lowest, spacing := mel(mfccLowest), (mel(mfccHighest)-mel(mfccLowest))/(mfccCount+1)
	for bin := range m.spectrum {
		hertz := float64(bin) * wavRate / mfccPoints
		m.band, m.weight = append(m.band, -2), append(m.weight, 0)
		if hertz > mfccLowest && hertz <= mfccHighest {
			place := (mel(hertz) - lowest) / spacing // the peak of band b is at b + 1
			m.band[bin] = int(math.Ceil(place)) - 2
			m.weight[bin] = math.Ceil(place) - place
		}
	}
	for i := range m.cosines {
		for j := range m.cosines[i] {
			m.cosines[i][j] = math.Sqrt(2./mfccCount) * math.Cos(math.Pi/mfccCount*float64(i)*(float64(j)+.5))
		}
	}
	return m
}

// features writes the 40 coefficients of each of the 98 frames of a clip, frame after frame. A clip shorter than one
// second ends in silence; of a longer one the first second counts.
func (m *mfcc) features(dst []float32, samples []int16) {
	for t := range mfccFrames {
		clear(m.frame[:])
		for i := range m.hann {
			if at := t*mfccHop + i; at < len(samples) {
				m.frame[i] = m.hann[i] * float64(samples[at]) / (1 << 15)
			}
		}
		m.spectrum = m.fft.Coefficients(m.spectrum, m.frame[:])
		var bands [mfccCount]float64
		for bin, band := range m.band {
			if band < -1 {
				continue
			}
			x := m.spectrum[bin]
			magnitude := math.Sqrt(real(x)*real(x) + imag(x)*imag(x))
			if band >= 0 {
				bands[band] += magnitude * m.weight[bin]
			}
			if band+1 < mfccCount {
				bands[band+1] += magnitude * (1 - m.weight[bin])
			}
		}
		for i := range bands {
			bands[i] = math.Log(max(bands[i], mfccFloor))
		}
		for i := range m.cosines {
			sum := 0.0
			for j, band := range bands {
				sum += m.cosines[i][j] * band
			}
			dst[t*mfccCount+i] = float32(sum)
		}
	}
}
