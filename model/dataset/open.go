package dataset

import (
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
	// GeneratedCBF is the name of the generated cylinder-bell-funnel set.
	GeneratedCBF = "generated-cbf"
)

// Reference says which data set is meant, and in what shape. It is comparable.
type Reference struct {
	// Name is [MNIST], [PermutedMNIST], [GeneratedCBF] or the name of a UCR set in any of its spellings.
	Name string
	// Exchange applies to UCR sets; "" means auto.
	Exchange Exchange
	// Limit, if positive, bounds the number of MNIST's images in each part.
	Limit int
	// Permutation is the seed of PermutedMNIST's permutation.
	Permutation uint64
}

// normal returns the reference without what does not matter to its set, so that equal sets have equal references.
func (r Reference) normal() Reference {
	n := Reference{Name: r.Name}
	switch lower := strings.ToLower(r.Name); lower {
	case GeneratedCBF:
		n.Name = lower
	case MNIST:
		n.Name, n.Limit = lower, r.Limit
	case PermutedMNIST:
		n.Name, n.Limit, n.Permutation = lower, r.Limit, r.Permutation
	default:
		n.Exchange = r.Exchange
		if n.Exchange == "" {
			n.Exchange = ExchangeAuto
		}
	}
	return n
}

// Open loads a data set from the data directory root: UCR sets from its folder ucr, MNIST from its folder mnist. The
// generated set needs no directory. Errors are those of [LoadUCR] and [LoadMNIST].
func Open(root string, reference Reference) (*Set, error) {
	r := reference.normal()
	if r.Name == GeneratedCBF {
		return GenerateCBF(CBFOptions{}), nil
	}
	if r.Name == "" {
		return nil, errors.New("no data set named")
	}
	const hint = "name the directory that holds ucr and mnist with --data DIR or in SWEEP_DATA"
	if root == "" {
		return nil, fmt.Errorf("%w: %s", ErrNoData, hint)
	}
	switch info, err := os.Stat(root); {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
		return nil, fmt.Errorf("%w: %s is not one; %s", ErrNoData, root, hint)
	case err != nil:
		return nil, fmt.Errorf("data directory: %w", err)
	}
	switch r.Name {
	case MNIST, PermutedMNIST:
		return LoadMNIST(filepath.Join(root, "mnist"), MNISTOptions{
			Permuted:        r.Name == PermutedMNIST,
			PermutationSeed: r.Permutation,
			Limit:           r.Limit,
		})
	}
	s, err := LoadUCR(filepath.Join(root, "ucr"), r.Name, UCROptions{Exchange: r.Exchange})
	var unknown *UnknownError
	if errors.As(err, &unknown) {
		unknown.Near = nearest(r.Name, append(slices.Clone(unknown.Near), MNIST, PermutedMNIST, GeneratedCBF))
	}
	return s, err
}
