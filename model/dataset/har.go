package dataset

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"

	"sweep/model/random"
)

// The shape of the windows of the smartphone data.
const (
	harSteps    = 128 // 2.56 s at 50 Hz
	harChannels = 9
	harLength   = harSteps * harChannels
)

// harSignals are the channels in their order: acceleration of the body, rotation, acceleration with gravity.
var harSignals = [harChannels]string{
	"body_acc_x", "body_acc_y", "body_acc_z", "body_gyro_x", "body_gyro_y", "body_gyro_z", "total_acc_x", "total_acc_y",
	"total_acc_z",
}

// harClasses is the class of each activity 1 … 6 of the files in HAR-2.
var harClasses = [6]int{
	1, // walking
	0, // walking upstairs
	1, // walking downstairs
	0, // sitting
	1, // standing
	0, // laying
}

var harLabels = []string{"sitting, laying, walking upstairs", "standing, walking, walking downstairs"}

// newHAR2 returns the set without its parts.
func newHAR2(name string) *Set {
	return &Set{Name: name, Length: harLength, Classes: 2, OutputWidth: 1, InputSize: harChannels, Depth: harSteps,
		Channels: harChannels, Labels: harLabels}
}

// LoadHAR2 loads HAR-2, the human activities of Anguita et al. (2013) in two classes, from dir, which holds the folders
// train and test of the UCI archive: the signals in "Inertial Signals", a file a channel and a window of 128 numbers a
// line, and the activities in y_train.txt and y_test.txt; each may be packed with gzip. A series is a window step by
// step, nine numbers a step, as they are in the files; [NormalizeChannel] scales them as the authors of the SGORNN
// paper do.
//
// The six activities become two classes as in the code of these authors, which the paper itself does not say:
// activities 2, 4 and 6 (walking upstairs, sitting, laying) are class 0, activities 1, 3 and 5 (walking, walking
// downstairs, standing) class 1. Later papers on the task, which FastGRNN (Kusupati et al. 2018) named, spell out the
// same partition (coRNN, Rusch and Mishra 2020). A network has one output, which the published counts (2307 weights of
// SGORNN) ask for.
func LoadHAR2(dir string) (*Set, error) {
	if err := checkFolder(dir, "the folders train and test of the UCI set Human Activity Recognition Using "+
		"Smartphones"); err != nil {
		return nil, err
	}
	s := newHAR2(HAR2)
	for _, part := range []struct {
		name string
		part *Part
		size int // of the archive's
	}{{"train", &s.Train, 7352}, {"test", &s.Test, 2947}} {
		if err := s.readHARPart(filepath.Join(dir, part.name), part.name, part.part); err != nil {
			return nil, err
		}
		if part.part.N != part.size {
			s.Notes = append(s.Notes, fmt.Sprintf("%d windows in the %s part where the archive has %d", part.part.N,
				part.name, part.size))
		}
	}
	s.seal()
	return s, nil
}

func (s *Set) readHARPart(dir, name string, part *Part) error {
	file := filepath.Join(dir, "y_"+name+".txt")
	path, data, err := s.read(file, file+".gz")
	if err != nil {
		return err
	}
	activities, err := parseActivities(path, data)
	if err != nil {
		return err
	}
	part.N, part.Labels = len(activities), make([]int, len(activities))
	for i, activity := range activities {
		part.Labels[i] = harClasses[activity-1]
	}
	part.Values = make([]float32, part.N*harLength)
	for channel, signal := range harSignals {
		file := filepath.Join(dir, "Inertial Signals", signal+"_"+name+".txt")
		path, data, err := s.read(file, file+".gz")
		if err != nil {
			return err
		}
		if err := parseSignal(path, data, part.N, part.Values[channel:]); err != nil {
			return err
		}
	}
	return nil
}

// parseActivities reads a number from 1 to 6 a line.
func parseActivities(path string, data []byte) ([]int, error) {
	var activities []int
	lines := lineReader{rest: data}
	for line, ok := lines.next(); ok; line, ok = lines.next() {
		field := bytes.TrimSpace(line)
		if len(field) == 0 && len(bytes.TrimSpace(lines.rest)) == 0 {
			break
		}
		if len(field) != 1 || field[0] < '1' || field[0] > '6' {
			return nil, fileError(path, lines.number, 0, ErrLabel, "%q is no activity: want a number from 1 to 6",
				clip(field))
		}
		activities = append(activities, int(field[0]-'0'))
	}
	if len(activities) == 0 {
		return nil, fileError(path, 0, 0, ErrEmpty, "the file holds no activities")
	}
	return activities, nil
}

// parseSignal reads so many windows of a channel, a line each, and puts their numbers into every ninth place of dst.
func parseSignal(path string, data []byte, windows int, dst []float32) error {
	if !bytes.HasSuffix(data, []byte("\n")) {
		return fileError(path, 0, 0, ErrTruncated, "the last line has no end; fetch the file again")
	}
	lines, window := lineReader{rest: data}, 0
	for line, ok := lines.next(); ok; line, ok = lines.next() {
		line = bytes.TrimRight(line, " \r")
		if len(line) == 0 {
			continue
		}
		if window == windows {
			return fileError(path, lines.number, 0, ErrForm, "more windows than the %d activities", windows)
		}
		step := 0
		for i := 0; i < len(line); {
			if line[i] == ' ' {
				i++
				continue
			}
			v, end, err := scanField(line, i, ' ')
			if err != nil {
				kind := ErrNumber
				if isMissing(line[i:end]) {
					kind = ErrMissingValue
				}
				return fileError(path, lines.number, step+1, kind, "%q", clip(line[i:end]))
			}
			if step < harSteps {
				dst[(window*harSteps+step)*harChannels] = v
			}
			step++
			i = end
		}
		if step != harSteps {
			return fileError(path, lines.number, 0, ErrVariableLength, "%d values where a window has %d", step,
				harSteps)
		}
		window++
	}
	if window < windows {
		return fileError(path, 0, 0, ErrTruncated, "%d windows where there are %d activities; fetch the file again",
			window, windows)
	}
	return nil
}

// GenerateHAR2 returns 240 windows to train on and 120 to test on, of the shape and the classes of HAR-2, that need no
// files. Each activity holds the phone in its own way towards gravity, and those of walking swing up and down in a
// triangle of their own period and height, at a random phase; all is noisy. The activities take turns. A seed gives the
// same bits everywhere. It is for trying out what trains on HAR-2: accuracies on the two need not agree.
func GenerateHAR2(seed uint64) *Set {
	s := newHAR2(GeneratedHAR2)
	source := random.New(seed, random.Series)
	s.Train, s.Test = harPart(source, 240), harPart(source, 120)
	s.seal()
	return s
}

func harPart(source *random.Source, n int) Part {
	p := Part{N: n, Values: make([]float32, n*harLength), Labels: make([]int, n)}
	for i := range n {
		p.Labels[i] = harClasses[i%6]
		harWindow(p.Values[i*harLength:(i+1)*harLength], source, i%6)
	}
	return p
}

// harMotions are the direction of gravity of each activity, and the period and height of its swing.
var harMotions = [6]struct {
	gravity [3]float64
	period  int
	height  float64
}{
	{[3]float64{1, -.2, .1}, 28, .3}, {[3]float64{.95, -.25, -.05}, 34, .35}, {[3]float64{.95, -.15, .1}, 22, .5},
	{[3]float64{.9, .1, .3}, 1, 0}, {[3]float64{1, -.15, 0}, 1, 0}, {[3]float64{-.2, .7, .6}, 1, 0},
}

// harWindow writes one window. The conversions keep a product and a sum apart, see [GenerateCBF].
func harWindow(dst []float32, source *random.Source, activity int) {
	const noise = .03
	m := &harMotions[activity]
	phase := source.Below(m.period)
	for t := range harSteps {
		x := dst[t*harChannels:][:harChannels]
		turn := float64((t+phase)%m.period) / float64(m.period)
		swing := float64(m.height * (4*math.Abs(turn-.5) - 1))
		for axis := range 3 {
			body := float64(swing*float64(3-axis)/3) + float64(noise*source.Normal())
			x[axis] = float32(body)
			x[3+axis] = float32(float64(swing*float64(1+axis)) + float64(noise*source.Normal()))
			x[6+axis] = float32(body + m.gravity[axis])
		}
	}
}
