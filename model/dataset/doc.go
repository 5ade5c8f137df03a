// Package dataset reads the data that the networks are trained on: the UCR time series archive in each of the forms in
// which it is handed on, MNIST as sequences of pixels, human activities from nine sensors (HAR-2), spoken words, the
// words of the Penn Treebank, queries, rows with several labels, a generated twin of each kind that needs no files, and
// series from files of users ([ReadSeries], [LoadOwn]).
//
// A [Set] is immutable once it is loaded: its parts may be shared by any number of trials. Series are row-major,
// [N][Length]; classes are 0 … k−1 in the sorted order of the label values, which the files may number from −1, 0 or 1
// and with gaps. [Arrange] turns each series once into a sequence of Steps vectors of InputSize values, and
// [Sequences.Gather] copies a minibatch of them to the [step][batch][input] layout of the networks, without allocation.
//
// What cannot be trained on is refused when it is read, never mended in silence: truncated files, and in public sets
// missing values and series of unequal length. Such errors are a [*FileError] with file, row and column.
//
// All random choices here (splits, permutations, generated series) come from package random and from operations that
// IEEE 754 rounds in one way only, so that a seed gives the same bits on every machine and with every version of Go.
package dataset
