package paper

import "strings"

// publishedSet is a row of Table 4 of Zhang, Lei, Dhillon: Stabilizing
// Gradients for Deep Neural Networks via Efficient SVD Parameterization (ICML
// 2018), appendix C.
type publishedSet struct {
	name     string // as the paper writes it
	folder   string // as the archive of 2018 names it
	accuracy map[string]float64
	// artefact says why the row's figures are no results.
	artefact string
	// note says what else a reader should know.
	note string
}

const (
	exchangedNote = "train and test are exchanged against the 2018 archive, as in the paper"
	majorityRate  = "the published figure is the test set's majority rate: labels −1 and 1 became one-hot rows of " +
		"which one is empty, and nothing was learnt"
)

// table4 holds the 21 rows; accuracies in the order RNN, LSTM, oRNN, Spectral-RNN.
var table4 = []publishedSet{
	row("50words", "FiftyWords", .492, .598, .642, .651),
	row("Adiac", "Adiac", .552, .706, .668, .726),
	row("ArrowHead", "ArrowHead", .509, .537, .669, .800),
	row("Beef", "Beef", .600, .700, .733, .733),
	row("BeetleFly", "BeetleFly", .950, .850, .900, .950),
	row("CBF", "CBF", .702, .967, .881, .948),
	row("Coffee", "Coffee", 1, 1, 1, 1),
	row("Cricket X", "CricketX", .310, .456, .495, .500),
	row("DistalPhalanxOutlineCorrect", "DistalPhalanxOutlineCorrect", .790, .798, .830, .840).noting(exchangedNote),
	row("DistalPhalanxTW", "DistalPhalanxTW", .815, .795, .807, .815).noting(exchangedNote +
		"; the paper says 154/399, but its accuracies are all multiples of 1/400"),
	row("ECG200", "ECG200", .640, .640, .640, .640).unsound(majorityRate),
	row("ECG5000", "ECG5000", .941, .936, .940, .945),
	row("ECGFiveDays", "ECGFiveDays", .947, .790, .976, .948),
	row("FaceAll", "FaceAll", .549, .455, .714, .714),
	row("FaceFour", "FaceFour", .625, .477, .511, .716),
	row("FacesUCR", "FacesUCR", .449, .629, .710, .727),
	row("Gun Point", "GunPoint", .947, .920, .953, .960),
	row("InsectWingbeatSound", "InsectWingbeatSound", .534, .515, .598, .586),
	row("ItalyPowerDemand", "ItalyPowerDemand", .970, .969, .972, .973),
	row("Lighting2", "Lightning2", .541, .541, .541, .541).unsound(majorityRate),
	row("MiddlePhalanxOutlineCorrect", "MiddlePhalanxOutlineCorrect", .793, .783, .712, .820).noting(exchangedNote),
}

// row takes the accuracies in the order of table4.
func row(name, folder string, rnn, lstm, ornn, spectral float64) publishedSet {
	return publishedSet{name: name, folder: folder,
		accuracy: map[string]float64{"rnn": rnn, "lstm": lstm, "ornn": ornn, "spectral-rnn": spectral}}
}

func (p publishedSet) unsound(why string) publishedSet { p.artefact = why; return p }
func (p publishedSet) noting(note string) publishedSet { p.note = note; return p }

// generatedCBF is the generated set; its published figures are those of CBF,
// which the same generator made.
const generatedCBF = "generated-cbf"

// setKey makes spellings of one name equal.
func setKey(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '_' || r == '-' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// canonicalSet returns the archive's name of a set, or the name as it is.
func canonicalSet(name string) string {
	for i := range table4 {
		if setKey(name) == setKey(table4[i].name) || setKey(name) == setKey(table4[i].folder) {
			return table4[i].folder
		}
	}
	for _, set := range pixelSets {
		if setKey(name) == setKey(set) {
			return set
		}
	}
	return strings.TrimSpace(name)
}

// published returns the row of Table 4 for a set, or nil.
func published(set string) *publishedSet {
	for i := range table4 {
		if table4[i].folder == set || set == generatedCBF && table4[i].folder == "CBF" {
			return &table4[i]
		}
	}
	return nil
}

// publishedPixel is a row of Table 2 of the same paper: test accuracy on
// pixel-MNIST in percent.
type publishedPixel struct {
	name, model, source string
	hidden              string
	count               string
	accuracy            float64
}

var table2 = []publishedPixel{
	{"Spectral-RNN", "spectral-rnn", "Zhang et al. 2018", "128 (m1, m2 = 16)", "≈ 6k", 97.7},
	{"oRNN", "ornn", "Mhammedi et al. 2017", "256 (m = 32)", "≈ 11k", 97.2},
	{"RNN", "rnn", "Vorontsov et al. 2017", "128", "≈ 35k", 94.1},
	{"uRNN", "urnn", "Arjovsky et al. 2016", "512", "≈ 16k", 95.1},
	{"RC uRNN", "urnn", "Wisdom et al. 2016", "512", "≈ 16k", 97.5},
	{"FC uRNN", "fc-urnn", "Wisdom et al. 2016", "116", "≈ 16k", 92.8},
	{"factorized RNN", "factorized-rnn", "Vorontsov et al. 2017", "128", "≈ 32k", 94.6},
	{"LSTM", "lstm", "Vorontsov et al. 2017", "128", "≈ 64k", 97.3},
}
