package dataset

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// clipForms are the header fields of a WAV file.
type clipForm struct{ format, channels, rate, bits int }

var speechForm = clipForm{1, 1, 16_000, 16}

// wav returns a WAV file with an odd part before the samples.
func wav(form clipForm, samples ...int16) string {
	le := binary.LittleEndian
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00")
	b = le.AppendUint16(b, uint16(form.format))
	b = le.AppendUint16(b, uint16(form.channels))
	b = le.AppendUint32(b, uint32(form.rate))
	b = le.AppendUint32(b, uint32(form.rate*form.channels*form.bits/8))
	b = le.AppendUint16(b, uint16(form.channels*form.bits/8))
	b = le.AppendUint16(b, uint16(form.bits))
	b = append(b, "LIST\x03\x00\x00\x00abc\x00data"...)
	b = le.AppendUint32(b, uint32(2*len(samples)))
	for _, s := range samples {
		b = le.AppendUint16(b, uint16(s))
	}
	le.PutUint32(b[4:], uint32(len(b)-8))
	return string(b)
}

// goldenClip is the clip of testdata/mfcc.py, without the silence that ends it.
func goldenClip() []int16 {
	samples, state := make([]int16, 12_000), 12345
	for n := range samples {
		state = (1103515245*state + 12345) % (1 << 31)
		value := (state>>16)%2001 - 1000
		for _, wave := range []struct{ half, height int }{{20, 6000}, {3 + n/1000, 2000}} {
			if n/wave.half%2 == 1 {
				value += wave.height
			} else {
				value -= wave.height
			}
		}
		samples[n] = int16(value)
	}
	return samples
}

// The coefficients are those of a program that sums up the definitions.
func TestMFCC(t *testing.T) {
	data, err := os.ReadFile("testdata/mfcc.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[int][]float64
	if err := json.Unmarshal(data, &golden); err != nil || len(golden) != 6 {
		t.Fatalf("%d frames, %v", len(golden), err)
	}
	got := make([]float32, mfccLength)
	newMFCC().features(got, goldenClip())
	for frame, want := range golden {
		for i, w := range want {
			if g := float64(got[frame*mfccCount+i]); math.Abs(g-w) > 1e-4 {
				t.Fatalf("frame %d, coefficient %d: %v, want %v", frame, i, g, w)
			}
		}
	}
	long := make([]float32, mfccLength)
	newMFCC().features(long, append(goldenClip(), make([]int16, 9000)...))
	if !slices.Equal(got, long) || mfccLength != 3920 {
		t.Error("what follows the first second counts")
	}
}

// speechFolder writes a small copy of the set: clips of the words, by part.
func speechFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	lists := [3]string{}
	for i, word := range append(slices.Clone(speechLabels[2:]), "bed", "cat") {
		for part := range 3 {
			name := fmt.Sprintf("%s/%d.wav", word, part)
			write(t, filepath.Join(dir, name), wav(speechForm, int16(100*i+part), 5, -7))
			lists[part] += name + "\n"
		}
	}
	write(t, filepath.Join(dir, "validation_list.txt"), lists[1]+"dog/missing.wav\n")
	write(t, filepath.Join(dir, "testing_list.txt"), lists[2])
	for i := range 2 {
		noise := make([]int16, 17_000)
		for n := range noise {
			noise[n] = int16((n*37+i)%199 - 99)
		}
		write(t, filepath.Join(dir, noiseFolder, fmt.Sprintf("%d.wav", i)), wav(speechForm, noise...))
	}
	write(t, filepath.Join(dir, "README.md"), "no clip")
	return dir
}

func TestSpeechFolder(t *testing.T) {
	dir := speechFolder(t)
	s, err := LoadSpeech(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Ten clips of the words in each part, and a tenth and one of unknown words and of silence.
	if s.Train.N != 28 || s.Listed != 14 || s.Test.N != 14 || s.Length != 3920 || s.Depth != 20 || s.InputSize != 196 ||
		s.Missing != 1 {
		t.Errorf("%d, of which %d listed, and %d series", s.Train.N, s.Listed, s.Test.N)
	}
	for _, labels := range [][]int{s.Train.Labels[:14], s.Train.Labels[14:], s.Test.Labels} {
		if got := slices.Sorted(slices.Values(labels)); !slices.Equal(got, []int{0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
			11}) {
			t.Errorf("labels %v", got)
		}
	}
	if notes := strings.Join(s.Notes, "; "); !strings.Contains(notes, "36 clips where") ||
		!strings.Contains(notes, "1 of the 13 clips in validation_list.txt are not there") {
		t.Errorf("notes %q", notes)
	}
	want := make([]float32, mfccLength)
	newMFCC().features(want, []int16{int16(100*9 + 2), 5, -7}) // the clip of go to test on
	at := slices.Index(s.Test.Labels, 11)
	if !slices.Equal(s.Test.Values[at*mfccLength:(at+1)*mfccLength], want) {
		t.Error("the clip of go is another")
	}
	again, err := LoadSpeech(dir)
	if err != nil || again.Digest != s.Digest || !slices.Equal(again.Train.Values, s.Train.Values) {
		t.Errorf("loaded again it is another set: %v", err)
	}
	write(t, filepath.Join(dir, "go", "0.wav"), wav(speechForm, 1, 2, 3))
	if changed, err := LoadSpeech(dir); err != nil || changed.Digest == s.Digest {
		t.Errorf("another clip has the same digest: %v", err)
	}
}

func TestSpeechThatIsRefused(t *testing.T) {
	for _, c := range []struct {
		file, content string
		row           int
		kind          error
		detail        string
	}{
		{"go/0.wav", "", 0, ErrEmpty, "empty"},
		{"go/0.wav", "no WAV file at all", 0, ErrForm, "no WAV file"},
		{"go/0.wav", wav(speechForm, 1, 2, 3)[:50], 0, ErrTruncated, "fetch it again"},
		{"go/0.wav", wav(speechForm), 0, ErrEmpty, "no samples"},
		{"go/0.wav", wav(speechForm)[:36], 0, ErrTruncated, "no samples"},
		{"go/0.wav", wav(clipForm{1, 1, 8000, 16}, 1), 0, ErrForm, "8000 Hz"},
		{"go/0.wav", wav(clipForm{1, 2, 16_000, 16}, 1, 1), 0, ErrForm, "2 channels"},
		{"go/0.wav", wav(clipForm{3, 1, 16_000, 16}, 1), 0, ErrForm, "format 3"},
		{noiseFolder + "/0.wav", wav(speechForm, 1, 2), 0, ErrTruncated, "at least 16000"},
		{"testing_list.txt", "", 0, ErrEmpty, "no clips"},
		{"testing_list.txt", "go/2.wav\n../2.wav/x\n", 2, ErrForm, "WORD/FILE.wav"},
		{"testing_list.txt", "go/2.wav\ngo/1.wav\n", 2, ErrLabel, "other list"},
		{"testing_list.txt", "go/7.wav\n", 1, fs.ErrNotExist, "none of its 1 clips"},
		{"testing_list.txt", "bed/2.wav\n", 0, ErrEmpty, "in testing_list.txt"},
	} {
		dir := speechFolder(t)
		write(t, filepath.Join(dir, c.file), c.content)
		_, err := LoadSpeech(dir)
		var file *FileError
		if !errors.As(err, &file) || !errors.Is(err, c.kind) || file.Row != c.row || !strings.Contains(err.Error(), c.detail) {
			t.Errorf("%s %.20q: %v, want %v at line %d", c.file, c.content, err, c.kind, c.row)
		}
	}
	dir := speechFolder(t)
	if err := os.RemoveAll(filepath.Join(dir, noiseFolder)); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadSpeech(dir); !errors.Is(err, ErrNoData) {
		t.Errorf("no noise: %v", err)
	}
}

// The sample of the real set loads, with the words of its lists.
func TestSpeechSample(t *testing.T) {
	s, err := LoadSpeech(filepath.Join(realData(t), "speech"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d series to train on, %d of them listed, %d to test on; %v", s.Train.N, s.Listed, s.Test.N, s.Notes)
	// 23 and 19 of the 100 clips of the ten words are in the lists.
	if s.Missing != 6754+6784 || s.Test.N != 23+3+3 || s.Listed != 19+2+2 || s.Train.N != 58+6+6+s.Listed {
		t.Errorf("%d, of which %d listed, and %d series", s.Train.N, s.Listed, s.Test.N)
	}
	for _, v := range s.Train.Values {
		if v-v != 0 || math.Abs(float64(v)) > 400 {
			t.Fatalf("coefficient %v", v)
		}
	}
}

func TestGeneratedSpeech(t *testing.T) {
	s := GenerateSpeech(0)
	if s.Train.N != 480 || s.Listed != 120 || s.Test.N != 240 || len(s.Test.Values) != 240*3920 ||
		slices.Max(s.Test.Labels) != 11 || s.Digest != GenerateSpeech(0).Digest {
		t.Errorf("%d, of which %d listed, and %d series", s.Train.N, s.Listed, s.Test.N)
	}
}

func BenchmarkMFCC(b *testing.B) {
	m, dst, clip := newMFCC(), make([]float32, mfccLength), goldenClip()
	for b.Loop() {
		m.features(dst, clip)
	}
}
