package paper

import (
	"slices"
	"strings"

	"sweep/sweep/paper/archive"
	"sweep/sweep/report"
)

// publishedSet is a row of Table 4 of Zhang, Lei, Dhillon: Stabilizing
// Gradients for Deep Neural Networks via Efficient SVD Parameterization (ICML
// 2018), appendix C.
type publishedSet struct {
	name   string // as the paper writes it
	folder string // as the archive of 2018 names it
	facts  report.Facts
	cells  cells
	// artefact says why the row's figures are no results.
	artefact string
	// note says what else a reader should know.
	note string
}

// cells are the cells of a row in the order of table4Models.
type cells [4]struct {
	accuracy float64
	count    int64 // parameters of the network
}

const (
	exchangedNote = "train and test are exchanged against the 2018 archive, as in the paper"
	noTestFile    = "its test file is not among the usual copies of the archive"
	majorityRate  = "the published figure is the test set's majority rate: labels −1 and 1 became one-hot rows of " +
		"which one is empty, and nothing was learnt"
)

// table4Models are the models in the order of their columns.
var table4Models = []string{"rnn", "lstm", "ornn", "spectral-rnn"}

// table4 holds the 21 rows.
var table4 = []publishedSet{
	row("50words", "FiftyWords", facts(450, 455, 270, 50, 27),
		cells{{.492, 3058}, {.598, 7218}, {.642, 2426}, {.651, 2850}}),
	row("Adiac", "Adiac", facts(390, 391, 176, 37, 16),
		cells{{.552, 2694}, {.706, 6950}, {.668, 2062}, {.726, 2486}}),
	row("ArrowHead", "ArrowHead", facts(36, 175, 251, 3, 251),
		cells{{.509, 1219}, {.537, 4515}, {.669, 587}, {.800, 1011}}),
	row("Beef", "Beef", facts(30, 30, 470, 5, 47),
		cells{{.600, 1606}, {.700, 5766}, {.733, 974}, {.733, 1398}}),
	row("BeetleFly", "BeetleFly", facts(20, 20, 512, 2, 32),
		cells{{.950, 1699}, {.850, 6435}, {.900, 1067}, {.950, 1491}}),
	row("CBF", "CBF", facts(30, 900, 128, 3, 16),
		cells{{.702, 1476}, {.967, 5444}, {.881, 844}, {.948, 1268}}),
	row("Coffee", "Coffee", facts(28, 28, 286, 2, 22),
		cells{{1, 1570}, {1, 6018}, {1, 938}, {1, 1362}}),
	row("Cricket X", "CricketX", facts(390, 390, 300, 12, 20),
		cells{{.310, 1997}, {.456, 6637}, {.495, 1365}, {.500, 1789}}),
	row("DistalPhalanxOutlineCorrect", "DistalPhalanxOutlineCorrect", facts(276, 600, 80, 2, 10),
		cells{{.790, 1410}, {.798, 5378}, {.830, 778}, {.840, 1202}}).noting(exchangedNote),
	row("DistalPhalanxTW", "DistalPhalanxTW", facts(154, 399, 80, 6, 10),
		cells{{.815, 1641}, {.795, 5609}, {.807, 1009}, {.815, 1433}}).noting(exchangedNote +
		"; the published accuracies are all multiples of 1/400"),
	row("ECG200", "ECG200", facts(100, 100, 96, 2, 12),
		cells{{.640, 1410}, {.640, 5378}, {.640, 778}, {.640, 1202}}).unsound(majorityRate),
	row("ECG5000", "ECG5000", facts(500, 4500, 140, 5, 14),
		cells{{.941, 1606}, {.936, 5766}, {.940, 974}, {.945, 1398}}),
	row("ECGFiveDays", "ECGFiveDays", facts(23, 861, 136, 2, 17),
		cells{{.947, 1443}, {.790, 5411}, {.976, 811}, {.948, 1235}}),
	row("FaceAll", "FaceAll", facts(560, 1690, 131, 14, 131),
		cells{{.549, 1615}, {.455, 4911}, {.714, 983}, {.714, 1407}}),
	row("FaceFour", "FaceFour", facts(24, 88, 350, 4, 25),
		cells{{.625, 1701}, {.477, 6245}, {.511, 1069}, {.716, 1493}}),
	row("FacesUCR", "FacesUCR", facts(200, 2050, 131, 14, 131),
		cells{{.449, 1615}, {.629, 4911}, {.710, 983}, {.727, 1407}}),
	row("Gun Point", "GunPoint", facts(50, 150, 150, 2, 15),
		cells{{.947, 1507}, {.920, 5667}, {.953, 875}, {.960, 1299}}),
	row("InsectWingbeatSound", "InsectWingbeatSound", facts(220, 1980, 256, 11, 16),
		cells{{.534, 1996}, {.515, 6732}, {.598, 1364}, {.586, 1788}}).noting(noTestFile),
	row("ItalyPowerDemand", "ItalyPowerDemand", facts(67, 1029, 24, 2, 6),
		cells{{.970, 1315}, {.969, 4899}, {.972, 683}, {.973, 1107}}),
	row("Lighting2", "Lightning2", facts(60, 61, 637, 2, 49),
		cells{{.541, 1570}, {.541, 6018}, {.541, 938}, {.541, 1362}}).unsound(majorityRate),
	row("MiddlePhalanxOutlineCorrect", "MiddlePhalanxOutlineCorrect", facts(291, 600, 80, 2, 10),
		cells{{.793, 1410}, {.783, 5378}, {.712, 778}, {.820, 1202}}).noting(exchangedNote),
}

func row(name, folder string, facts report.Facts, cells cells) publishedSet {
	return publishedSet{name: name, folder: folder, facts: facts, cells: cells}
}

// facts are the description of a data set.
func facts(train, test, length, classes, depth int) report.Facts {
	return report.Facts{Train: train, Test: test, Length: length, Classes: classes, Depth: depth}
}

func (p publishedSet) unsound(why string) publishedSet { p.artefact = why; return p }
func (p publishedSet) noting(note string) publishedSet { p.note = note; return p }

// cell is what is published of a model.
func (p *publishedSet) cell(model string) (accuracy float64, count int64, ok bool) {
	at := slices.Index(table4Models, model)
	if p == nil || at < 0 {
		return 0, 0, false
	}
	return p.cells[at].accuracy, p.cells[at].count, true
}

// canonicalSet returns the archive's name of a set, or the name as it is.
func canonicalSet(name string) string {
	for i := range table4 {
		if archive.Key(name) == archive.Key(table4[i].name) || archive.Key(name) == archive.Key(table4[i].folder) {
			return table4[i].folder
		}
	}
	return strings.TrimSpace(name)
}

// published returns the row of Table 4 for a set, or nil.
func published(set string) *publishedSet {
	for i := range table4 {
		if table4[i].folder == set || set == archive.GeneratedCBF && table4[i].folder == "CBF" {
			return &table4[i]
		}
	}
	return nil
}
