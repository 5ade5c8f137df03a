package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sweep/model/random"
)

// speechLabels are the classes of the spoken words.
var speechLabels = []string{"silence", "unknown", "yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"}

const (
	speechSilence, speechUnknown = 0, 1
	// speechShare is the clips of silence, and as many of unknown words, to those of the ten words, in TensorFlow's
	// tutorial.
	speechShare = 0.1
	// speechClips is the number of clips of the full set, version 0.01.
	speechClips = 64_727
	noiseFolder = "_background_noise_"
)

// newSpeech returns the set without its parts. A step has 196 of the 3920 numbers, so that there are 20 steps; 98 make
// 40, the other length on the slides.
func newSpeech(name string) *Set {
	return &Set{Name: name, Length: mfccLength, Classes: len(speechLabels), OutputWidth: len(speechLabels),
		InputSize: mfccLength / 20, Depth: 20, Channels: mfccCount, Labels: speechLabels}
}

// LoadSpeech loads Google's Speech Commands (Warden 2017) from dir: a folder of WAV files for each word, the folder
// _background_noise_, validation_list.txt and testing_list.txt. A series is the 98 frames of a clip of one second, 40
// mel-frequency cepstral coefficients each, frame after frame. There are twelve classes: ten words; unknown, clips of
// the other words; and silence, seconds of the background noise. The last two have a tenth as many clips as the ten
// words together, drawn for each part once, by no seed of a trial. Clips that no list has are to train on; those of the
// validation list are the last of the training part, see [Set.Listed].
//
// Lists may name clips that are not there, as in a copy of a part of the set: [Set.Missing] counts them. A list of
// which nothing is there is refused.
func LoadSpeech(dir string) (*Set, error) {
	if err := checkFolder(dir, "Speech Commands: a folder of WAV files for each word, _background_noise_, "+
		"validation_list.txt and testing_list.txt"); err != nil {
		return nil, err
	}
	s := newSpeech(Speech)
	r := &speechReader{set: s, dir: dir, mfcc: newMFCC(), digest: sha256.New()}
	r.digest.Write([]byte("sweep speech 1\n"))
	clips, err := r.clips()
	if err != nil {
		return nil, err
	}
	if err := r.readNoises(); err != nil {
		return nil, err
	}
	for part, of := range []*Part{&s.Train, &s.Train, &s.Test} {
		before := of.N
		if err := r.readPart(part, clips[part], of); err != nil {
			return nil, err
		}
		if part == 1 {
			s.Listed = of.N - before
		}
	}
	s.Digest = hex.EncodeToString(r.digest.Sum(nil))
	return s, nil
}

// speechReader reads a copy of the set.
type speechReader struct {
	set    *Set
	dir    string
	mfcc   *mfcc
	noises [][]int16
	digest hash.Hash // of samples and classes: features may differ in a last bit between processors
}

// clips returns the clips, WORD/FILE, to train, to validate and to test on, in the order of their names.
func (r *speechReader) clips() (parts [3][]string, err error) {
	all, err := r.names()
	if err != nil {
		return parts, err
	}
	if len(all) != speechClips {
		r.set.Notes = append(r.set.Notes, fmt.Sprintf("%d clips where version 0.01 of the set has %d", len(all),
			speechClips))
	}
	listed := map[string]int{}
	for i, name := range []string{"validation_list.txt", "testing_list.txt"} {
		part := 1 + i
		path, data, err := r.set.read(filepath.Join(r.dir, name))
		if err != nil {
			return parts, err
		}
		list, err := parseClipList(path, data)
		if err != nil {
			return parts, err
		}
		missing := 0
		for i, clip := range list {
			if other, ok := listed[clip]; ok && other != part {
				return parts, fileError(path, i+1, 0, ErrLabel, "%s is in the other list, too", clip)
			}
			listed[clip] = part
			if _, ok := slices.BinarySearch(all, clip); !ok {
				missing++
			}
		}
		if missing == len(list) {
			return parts, fileError(path, 1, 0, fs.ErrNotExist, "none of its %d clips is in %s", len(list), r.dir)
		}
		if r.set.Missing += missing; missing > 0 {
			r.set.Notes = append(r.set.Notes, fmt.Sprintf("%d of the %d clips in %s are not there", missing, len(list),
				name))
		}
	}
	for _, clip := range all {
		parts[listed[clip]] = append(parts[listed[clip]], clip)
	}
	return parts, nil
}

// names returns all clips in order.
func (r *speechReader) names() (all []string, err error) {
	words, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		if !word.IsDir() || word.Name() == noiseFolder {
			continue
		}
		files, err := wavFiles(filepath.Join(r.dir, word.Name()))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			all = append(all, word.Name()+"/"+file)
		}
	}
	if slices.Sort(all); len(all) == 0 {
		return nil, fileError(r.dir, 0, 0, ErrEmpty, "it has no folders with WAV files, such as yes/NAME.wav")
	}
	return all, nil
}

func wavFiles(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if !entry.IsDir() && strings.HasSuffix(entry.Name(), ".wav") {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// parseClipList reads clips, WORD/FILE.wav, one a line.
func parseClipList(path string, data []byte) (list []string, err error) {
	reader := lineReader{rest: data}
	for line, ok := reader.next(); ok; line, ok = reader.next() {
		clip := string(bytes.TrimSuffix(line, []byte("\r")))
		word, file, ok := strings.Cut(clip, "/")
		if !ok || word == "" || file == "" || strings.Contains(file, "/") || !strings.HasSuffix(file, ".wav") {
			return nil, fileError(path, reader.number, 0, ErrForm, "%q is no clip: want WORD/FILE.wav", clip)
		}
		list = append(list, clip)
	}
	if len(list) == 0 {
		return nil, fileError(path, 0, 0, ErrEmpty, "the list names no clips")
	}
	return list, nil
}

// readNoises reads the background noises, each of a second at least.
func (r *speechReader) readNoises() error {
	dir := filepath.Join(r.dir, noiseFolder)
	if err := checkFolder(dir, "WAV files of background noise"); err != nil {
		return err
	}
	names, err := wavFiles(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path, samples, err := r.samples(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if len(samples) < wavRate {
			return fileError(path, 0, 0, ErrTruncated, "%d samples of background noise: want at least %d", len(samples),
				wavRate)
		}
		r.noises = append(r.noises, samples)
	}
	if len(r.noises) == 0 {
		return fileError(dir, 0, 0, ErrEmpty, "it has no WAV files")
	}
	return nil
}

func (r *speechReader) samples(file string) (string, []int16, error) {
	path, data, err := r.set.read(file)
	if err != nil {
		return path, nil, err
	}
	samples, err := parseWAV(path, data)
	return path, samples, err
}

// readPart adds the clips of a part: those of the ten words, a tenth as many of the others, and as many of silence.
func (r *speechReader) readPart(part int, clips []string, to *Part) error {
	var known, unknown []string
	for _, clip := range clips {
		if classOfClip(clip) == speechUnknown {
			unknown = append(unknown, clip)
		} else {
			known = append(known, clip)
		}
	}
	if len(known) == 0 {
		return fileError(r.dir, 0, 0, ErrEmpty, "no clip of the ten words is %s",
			[]string{"to train on: all are listed", "in validation_list.txt", "in testing_list.txt"}[part])
	}
	source := random.New(0, random.Split.At(part))
	extra := int(speechShare*float64(len(known))) + 1
	chosen := source.Permutation(len(unknown))[:min(extra, len(unknown))]
	slices.Sort(chosen)
	for _, i := range chosen {
		known = append(known, unknown[i])
	}
	to.Values = slices.Grow(to.Values, (len(known)+extra)*mfccLength)
	for _, clip := range known {
		_, samples, err := r.samples(filepath.Join(r.dir, filepath.FromSlash(clip)))
		if err != nil {
			return err
		}
		r.add(to, samples, classOfClip(clip))
	}
	for i := range extra {
		noise := r.noises[i%len(r.noises)]
		from := source.Below(len(noise) - wavRate + 1)
		r.add(to, noise[from:from+wavRate], speechSilence)
	}
	return nil
}

// classOfClip is the class of a word's clips.
func classOfClip(clip string) int {
	word, _, _ := strings.Cut(clip, "/")
	if i := slices.Index(speechLabels, word); i > speechUnknown {
		return i
	}
	return speechUnknown
}

// add adds a clip to a part.
func (r *speechReader) add(to *Part, samples []int16, class int) {
	digestInts(r.digest, class, len(samples))
	digestInts(r.digest, samples...)
	from := len(to.Values)
	to.Values = slices.Grow(to.Values, mfccLength)[:from+mfccLength]
	r.mfcc.features(to.Values[from:], samples)
	to.Labels = append(to.Labels, class)
	to.N++
}

// GenerateSpeech returns 480 series to train on, the last 120 of them listed for validation, and 240 to test on, of the
// shape and the classes of the spoken words, that need no files. Each word is a path of its own through seven points of
// the coefficients, spoken up to eight frames early or late; an unknown word is a path of its own for each series, and
// silence has none; all is noisy. The classes take turns. A seed gives the same bits everywhere. It is for trying out
// what trains on spoken words: accuracies on the two need not agree.
func GenerateSpeech(seed uint64) *Set {
	s := newSpeech(GeneratedSpeech)
	source := random.New(seed, random.Series)
	var words [12]speechPath
	for class := speechUnknown + 1; class < len(words); class++ {
		words[class] = newSpeechPath(source)
	}
	for _, part := range []struct {
		of *Part
		n  int
	}{{&s.Train, 480}, {&s.Test, 240}} {
		p := part.of
		*p = Part{N: part.n, Values: make([]float32, part.n*mfccLength), Labels: make([]int, part.n)}
		for i := range part.n {
			class := i % len(words)
			path := words[class]
			if class == speechUnknown {
				path = newSpeechPath(source)
			}
			p.Labels[i] = class
			path.write(p.Values[i*mfccLength:(i+1)*mfccLength], source)
		}
	}
	s.Listed = 120
	s.seal()
	return s
}

// speechPath is the points that a word's coefficients go through.
type speechPath [7][mfccCount]float64

func newSpeechPath(source *random.Source) (p speechPath) {
	for i := range p {
		for j := range p[i] {
			p[i][j] = source.Normal()
		}
	}
	return p
}

// write writes one series. The conversions keep a product and a sum apart, see [GenerateCBF].
func (p *speechPath) write(dst []float32, source *random.Source) {
	const most = 8 // frames early or late
	shift := source.Below(2*most+1) - most
	for t := range mfccFrames {
		place := float64(min(max(t+shift, 0), mfccFrames-1)) / (mfccFrames - 1) * float64(len(p)-1)
		from := min(int(place), len(p)-2)
		share := place - float64(from)
		for j := range mfccCount {
			value := float64(p[from][j]*(1-share)) + float64(p[from+1][j]*share)
			dst[t*mfccCount+j] = float32(value + source.Normal())
		}
	}
}
