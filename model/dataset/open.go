package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names of the data sets that are not in the UCR archive.
const (
	// MNIST is the name of the MNIST digits as sequences of pixels.
	MNIST = "mnist"
	// PermutedMNIST is the name of MNIST with one fixed random permutation of the pixels.
	PermutedMNIST = "permuted-mnist"
	// GeneratedMNIST is the name of generated images of the shape of MNIST's.
	GeneratedMNIST = "generated-mnist"
	// GeneratedCBF is the name of the generated cylinder-bell-funnel set.
	GeneratedCBF = "generated-cbf"
	// PTB is the name of the Penn Treebank, a [Text].
	PTB = "ptb"
	// GeneratedText is the name of the generated [Text].
	GeneratedText = "generated-text"
	// Queries is the name of the queries, a [QuerySet].
	Queries = "queries"
	// GeneratedQueries is the name of the generated [QuerySet].
	GeneratedQueries = "generated-queries"
	// MultiLabel is the name of the rows with several labels each, a [MultiLabelSet].
	MultiLabel = "multilabel"
	// GeneratedMultiLabel is the name of the generated [MultiLabelSet].
	GeneratedMultiLabel = "generated-multilabel"
	// Speech is the name of the spoken words.
	Speech = "speech"
	// GeneratedSpeech is the name of generated series of their shape.
	GeneratedSpeech = "generated-speech"
	// HAR2 is the name of the human activities in two classes.
	HAR2 = "har-2"
	// GeneratedHAR2 is the name of generated windows of their shape.
	GeneratedHAR2 = "generated-har-2"
)

// others are all of them, and generated are those that need no files.
var (
	others = []string{MNIST, PermutedMNIST, GeneratedMNIST, GeneratedCBF, HAR2, GeneratedHAR2, PTB, GeneratedText,
		Queries, GeneratedQueries, MultiLabel, GeneratedMultiLabel, Speech, GeneratedSpeech}
	generated = map[string]func(Reference) *Set{
		GeneratedCBF:    func(Reference) *Set { return GenerateCBF(0, 30, 900) },
		GeneratedHAR2:   func(Reference) *Set { return GenerateHAR2(0) },
		GeneratedSpeech: func(Reference) *Set { return GenerateSpeech(0) },
		GeneratedMNIST: func(r Reference) *Set {
			most := cmp.Or(r.Limit, generatedImages)
			return GenerateMNIST(0, min(most, generatedImages), min(most, generatedImages/4))
		},
	}
)

// Reference says which data set is meant, and in what shape. It is comparable.
type Reference struct {
	// Name is one of the names above or the name of a UCR set in any of its spellings.
	Name string
	// Exchange applies to UCR sets; "" means auto.
	Exchange Exchange
	// Limit, if positive, bounds the number of images of MNIST, and of those generated in its shape, in each part.
	Limit int
	// Permutation is the seed of PermutedMNIST's permutation.
	Permutation uint64
	// IndexBase is the number of MultiLabel's first feature.
	IndexBase int
	// Normalization is how values are scaled; "" means none.
	Normalization Normalization
	// Missing is what stands for missing values, in sets of users; "" means the value before.
	Missing Missing
}

// normal returns the reference without what does not matter to its set, so that equal sets have equal references.
func (r Reference) normal() Reference {
	n := Reference{Name: r.Name, Normalization: cmp.Or(r.Normalization, NormalizeNone),
		Missing: cmp.Or(r.Missing, MissingPrevious)}
	if IsOwn(r.Name) {
		return n
	}
	switch lower := strings.ToLower(r.Name); lower {
	case GeneratedCBF, HAR2, GeneratedHAR2, Speech, GeneratedSpeech:
		n.Name = lower
	case MNIST, GeneratedMNIST:
		n.Name, n.Limit = lower, r.Limit
	case PermutedMNIST:
		n.Name, n.Limit, n.Permutation = lower, r.Limit, r.Permutation
	default:
		n.Exchange = cmp.Or(r.Exchange, ExchangeAuto)
	}
	return n
}

// Open loads a data set from the data directory root: UCR sets from its folder ucr, MNIST from its folder mnist, HAR-2
// from har, spoken words from speech, those of users from own. The generated sets need no directory. Errors are those
// of [LoadUCR], [LoadMNIST], [LoadHAR2], [LoadSpeech] and [LoadOwn]. The digest does not depend on how values are
// prepared.
func Open(root string, reference Reference) (*Set, error) {
	r := reference.normal()
	s, err := load(root, r)
	if err == nil {
		s.prepare(r.Normalization, r.Missing)
	}
	return s, err
}

// load loads the data set of a normal reference as it is.
func load(root string, r Reference) (*Set, error) {
	if generate := generated[r.Name]; generate != nil {
		return generate(r), nil
	}
	if r.Name == "" {
		return nil, errors.New("no data set named")
	}
	if err := checkRoot(root); err != nil {
		return nil, err
	}
	switch r.Name {
	case MNIST, PermutedMNIST:
		return LoadMNIST(filepath.Join(root, "mnist"), MNISTOptions{
			Permuted:        r.Name == PermutedMNIST,
			PermutationSeed: r.Permutation,
			Limit:           r.Limit,
		})
	case HAR2:
		return LoadHAR2(filepath.Join(root, "har"))
	case Speech:
		return LoadSpeech(filepath.Join(root, "speech"))
	}
	if IsOwn(r.Name) {
		return openOwn(root, r.Name)
	}
	s, err := LoadUCR(filepath.Join(root, "ucr"), r.Name, r.Exchange)
	var unknown *UnknownError
	if errors.As(err, &unknown) {
		unknown.Near = nearest(r.Name, append(slices.Clone(unknown.Near), others...))
	}
	return s, err
}

// checkRoot returns an error unless root is a directory.
func checkRoot(root string) error {
	const hint = "name the directory that holds ucr and mnist with --data DIR or in SWEEP_DATA, or fill it with " +
		"\"sweep data fetch\""
	if root == "" {
		return fmt.Errorf("%w: %s", ErrNoData, hint)
	}
	switch info, err := os.Stat(root); {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
		return fmt.Errorf("%w: %s is not one; %s", ErrNoData, root, hint)
	case err != nil:
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}
