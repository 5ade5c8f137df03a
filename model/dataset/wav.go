package dataset

import (
	"bytes"
	"encoding/binary"
)

// wavRate is the sampling rate of clips in hertz.
const wavRate = 16_000

// parseWAV returns the samples of a WAV file of 16-bit PCM with one channel at 16 kHz.
func parseWAV(path string, data []byte) ([]int16, error) {
	fail := func(kind error, format string, args ...any) ([]int16, error) {
		return nil, fileError(path, 0, 0, kind, format, args...)
	}
	if len(data) == 0 {
		return fail(ErrEmpty, "the file is empty; fetch it again")
	}
	if len(data) < 12 || !bytes.Equal(data[:4], []byte("RIFF")) || !bytes.Equal(data[8:12], []byte("WAVE")) {
		return fail(ErrForm, "it is no WAV file")
	}
	known := false // the format
	for rest := data[12:]; len(rest) >= 8; {
		name, size := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		if rest = rest[8:]; size > uint64(len(rest)) {
			return fail(ErrTruncated, "its part %q should have %d bytes and has %d; fetch it again", name, size,
				len(rest))
		}
		content := rest[:size]
		switch {
		case name == "fmt ":
			if len(content) < 16 {
				return fail(ErrTruncated, "its format has %d bytes, want at least 16", len(content))
			}
			format, channels := binary.LittleEndian.Uint16(content), binary.LittleEndian.Uint16(content[2:])
			rate, bits := binary.LittleEndian.Uint32(content[4:]), binary.LittleEndian.Uint16(content[14:])
			const pcm = 1
			if format != pcm || channels != 1 || rate != wavRate || bits != 16 {
				return fail(ErrForm, "format %d, %d channels, %d Hz, %d bits: want PCM (1), 1 channel, %d Hz, 16 bits",
					format, channels, rate, bits, wavRate)
			}
			known = true
		case name == "data" && !known:
			return fail(ErrForm, "its samples come before their format")
		case name == "data":
			samples := make([]int16, len(content)/2)
			if len(samples) == 0 {
				return fail(ErrEmpty, "it has no samples")
			}
			for i := range samples {
				samples[i] = int16(binary.LittleEndian.Uint16(content[2*i:]))
			}
			return samples, nil
		}
		rest = rest[min(size+size%2, uint64(len(rest))):]
	}
	return fail(ErrTruncated, "it has no samples; fetch it again")
}
