package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"slices"
)

// Set is a labelled collection of series, parted into train and test.
type Set struct {
	// Name is the set's one spelling: for the UCR archive the folder name of its 2018 form, such as "FiftyWords", also
	// where the paper or the older archive calls it otherwise.
	Name string

	Train, Test Part

	// Length is the number of values in a series, in the longest if they differ; Classes is the number of classes.
	Length, Classes int

	// OutputWidth is the number of one-hot columns of the published networks, and so the width of their output layer:
	// the largest label plus one, which leaves column 0 unused where labels start at 1. It is never below Classes, but
	// 1 where the published networks tell two classes by the sign of one output.
	OutputWidth int

	// InputSize and Depth part a series into Depth steps of InputSize values as the paper does; Depth · InputSize =
	// Length, but where lengths differ, when the last step may lack values.
	InputSize, Depth int

	// Channels is the number of values that were measured at one time: those of a series are time by time, the channels
	// of each in one order. 0 means 1. ChannelNames are their names, nil where they have none.
	Channels     int
	ChannelNames []string

	// Permutation is the fixed one of the values of all series against the files: value i is what was value
	// Permutation[i]. nil where they are in the files' order.
	Permutation []int

	// Listed is the number of series, the last ones of Train, that the set's own list holds out for validation; 0
	// where it has none. Missing is the number of series that its lists name and that are not there.
	Listed, Missing int

	// Preparation is what [Open] did to the values as they are in the files.
	Preparation *Preparation
	gaps        bool // before that some were missing

	// Labels are the label values as the files spell them, indexed by class.
	Labels []string

	// Exchanged tells that train and test are exchanged against the files.
	Exchanged bool

	// Notes are what a reader of the results should know of how the set came about, one sentence each: parts exchanged
	// against the files, sizes other than the archive's.
	Notes []string

	// Digest is the SHA-256, in hexadecimal, of the content: sizes, values, classes and output width of both parts.
	// Equal content has the same digest whatever form of file it came from.
	Digest string

	sources
}

// Part is the train or the test part of a [Set]. The values are in Values, or, where a byte holds them without loss
// (the pixels of MNIST), in Bytes; the other one is nil.
type Part struct {
	N      int       // number of series
	Values []float32 // [N][Length]
	Bytes  []uint8   // [N][Length]; the byte b stands for Levels[b]
	Labels []int     // [N]: the class of each series, 0 … Classes−1

	// Lengths are the values of each series, behind which there are zeros up to Length; nil where all have Length.
	Lengths []int

	Levels *[256]float32 // nil for b/255
}

// Size returns the bytes of memory that the set's data takes.
func (s *Set) Size() int64 {
	return s.Train.size() + s.Test.size()
}

func (p *Part) size() int64 {
	return int64(len(p.Values))*4 + int64(len(p.Bytes)) + int64(len(p.Labels))*8
}

// seal sets the digest, which is a set's last step of loading.
func (s *Set) seal() {
	h := sha256.New()
	h.Write([]byte("sweep dataset 1\n"))
	digestInts(h, s.Length, s.Classes, s.OutputWidth)
	if IsOwn(s.Name) { // what the public sets have in common
		digestInts(h, s.Channels, s.Listed)
		for _, label := range s.Labels {
			digestInts(h, len(label))
			h.Write([]byte(label))
		}
	}
	for _, p := range []*Part{&s.Train, &s.Test} {
		digestInts(h, p.N)
		digestInts(h, p.Lengths...)
		digestFloats(h, p.Values)
		h.Write(p.Bytes)
		digestInts(h, p.Labels...)
	}
	s.Digest = hex.EncodeToString(h.Sum(nil))
}

// digestInts hashes each number in eight bytes.
func digestInts[I int | int16 | int32 | uint16](h hash.Hash, values ...I) {
	block := make([]byte, 0, 8<<10)
	for part := range slices.Chunk(values, cap(block)/8) {
		block = block[:0]
		for _, v := range part {
			block = binary.LittleEndian.AppendUint64(block, uint64(v))
		}
		h.Write(block)
	}
}

func digestFloats(h hash.Hash, values []float32) {
	block := make([]byte, 0, 16<<10)
	for part := range slices.Chunk(values, cap(block)/4) {
		block = block[:0]
		for _, v := range part {
			block = binary.LittleEndian.AppendUint32(block, math.Float32bits(v))
		}
		h.Write(block)
	}
}
