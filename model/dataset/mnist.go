package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sweep/model/random"
)

// MNISTOptions are the choices in loading MNIST.
type MNISTOptions struct {
	// Permuted shuffles the pixels of every image by the one permutation that PermutationSeed stands for.
	Permuted        bool
	PermutationSeed uint64
	// Limit, if positive, bounds the number of images of each part, which are then the first ones of the files.
	Limit int
}

const (
	mnistSide   = 28
	mnistPixels = mnistSide * mnistSide
	// maxImages bounds what a header can make the reader believe.
	maxImages = 1 << 22

	magicLabels = 0x801 // unsigned bytes, one dimension
	magicImages = 0x803 // unsigned bytes, three dimensions
)

// newMNIST returns a set of MNIST's shape without images.
func newMNIST(name string) *Set {
	return &Set{
		Name:        name,
		Length:      mnistPixels,
		Classes:     10,
		OutputWidth: 10,
		InputSize:   1,
		Depth:       mnistPixels,
		Labels:      []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
	}
}

// LoadMNIST loads the handwritten digits of LeCun, Cortes and Burges as sequences of 784 pixels, row by row of the
// image, from the four IDX files in dir, packed with gzip or not. The pixels stay bytes until they are gathered, where
// they become byte/255. They can be cut into any number of steps that divides 784. There is no validation part: as
// everywhere a trial holds out a share of Train with [Split].
func LoadMNIST(dir string, options MNISTOptions) (*Set, error) {
	if options.Limit < 0 {
		return nil, fmt.Errorf("limit %d is negative", options.Limit)
	}
	if err := checkFolder(dir, "MNIST's four files, train-images-idx3-ubyte.gz and so on"); err != nil {
		return nil, err
	}
	s := newMNIST(MNIST)
	for _, part := range []struct {
		stem string
		part *Part
	}{{"train", &s.Train}, {"t10k", &s.Test}} {
		images, source, err := readIDX(dir, part.stem+"-images", "idx3-ubyte", magicImages, options.Limit)
		if err != nil {
			return nil, err
		}
		s.sources = append(s.sources, source)
		labels, labelSource, err := readIDX(dir, part.stem+"-labels", "idx1-ubyte", magicLabels, options.Limit)
		if err != nil {
			return nil, err
		}
		s.sources = append(s.sources, labelSource)
		if images.count != labels.count {
			return nil, fileError(labelSource.path, 0, 0, ErrForm, "%d labels for the %d images of %s", labels.count,
				images.count, source.path)
		}
		part.part.N = len(labels.data)
		part.part.Bytes = images.data
		part.part.Labels = make([]int, len(labels.data))
		for i, label := range labels.data {
			if int(label) >= s.Classes {
				return nil, fileError(labelSource.path, i+1, 0, ErrLabel, "%d is no digit", label)
			}
			part.part.Labels[i] = int(label)
		}
	}
	if options.Permuted {
		s.Name = PermutedMNIST
		order := random.New(options.PermutationSeed, random.Permutation).Permutation(mnistPixels)
		for _, p := range []*Part{&s.Train, &s.Test} {
			permute(p.Bytes, order)
		}
		s.Permutation = order
	}
	s.seal()
	return s, nil
}

// permute puts the pixel order[i] of each image in place i.
func permute(images []uint8, order []int) {
	var image [mnistPixels]uint8
	for ; len(images) > 0; images = images[mnistPixels:] {
		copy(image[:], images)
		for i, from := range order {
			images[i] = image[from]
		}
	}
}

// idx is the content of an IDX file.
type idx struct {
	count int     // items that the header tells of
	data  []uint8 // the items read, at most the limit
}

// readIDX reads a file of dir: stem-kind or stem.kind, packed or not.
func readIDX(dir, stem, kind string, magic uint32, limit int) (idx, source, error) {
	dashed, dotted := filepath.Join(dir, stem+"-"+kind), filepath.Join(dir, stem+"."+kind)
	src, err := find(dashed, dashed+".gz", dotted, dotted+".gz")
	if err != nil {
		return idx{}, src, err
	}
	file, err := os.Open(src.path)
	if err != nil {
		return idx{}, src, fmt.Errorf("reading data: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	content, err := parseIDX(src.path, file, magic, limit)
	return content, src, err
}

// parseIDX reads an IDX file: a magic number, the sizes of the dimensions, big endian, then bytes. limit bounds the
// items to read if it is positive; what follows them is not looked at.
func parseIDX(path string, file io.Reader, magic uint32, limit int) (idx, error) {
	fail := func(kind error, format string, args ...any) (idx, error) {
		return idx{}, fileError(path, 0, 0, kind, format, args...)
	}
	readFailed := func(err error, what string) (idx, error) {
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return fail(ErrTruncated, "it ends within %s; fetch the file again", what)
		case errors.As(err, new(*fs.PathError)):
			return idx{}, fmt.Errorf("reading data: %w", err)
		}
		return fail(ErrForm, "%v", err) // what unpacking complains of
	}

	var r io.Reader = bufio.NewReaderSize(file, 1<<16)
	if head, _ := r.(*bufio.Reader).Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			return readFailed(err, "the gzip header")
		}
		r = unpacked
	}

	var header [16]byte
	head, itemSize := header[:8], 1
	if magic == magicImages {
		head, itemSize = header[:16], mnistPixels
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return readFailed(err, "the header")
	}
	if got := binary.BigEndian.Uint32(head); got != magic {
		return fail(ErrForm, "magic number %d where %d is expected", got, magic)
	}
	count := binary.BigEndian.Uint32(head[4:])
	if count == 0 {
		return fail(ErrEmpty, "the header tells of no items")
	}
	if count > maxImages {
		return fail(ErrForm, "the header tells of %d items", count)
	}
	if magic == magicImages {
		if h, w := binary.BigEndian.Uint32(head[8:]), binary.BigEndian.Uint32(head[12:]); h != mnistSide ||
			w != mnistSide {
			return fail(ErrForm, "images of %d x %d pixels where 28 x 28 are expected", h, w)
		}
	}

	result := idx{count: int(count)}
	items := result.count
	if limit > 0 {
		items = min(items, limit)
	}
	// The header is believed up to the size of MNIST itself; beyond, the buffer grows with what is really there.
	size := items * itemSize
	buffer := bytes.NewBuffer(make([]byte, 0, min(size, 60000*mnistPixels)+bytes.MinRead))
	if _, err := buffer.ReadFrom(io.LimitReader(r, int64(size))); err != nil || buffer.Len() < size {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return readFailed(err, fmt.Sprintf("item %d of %d", buffer.Len()/itemSize+1, count))
	}
	result.data = buffer.Bytes()
	if items == result.count {
		switch n, err := io.CopyN(io.Discard, r, 1); {
		case n > 0:
			return fail(ErrForm, "more bytes than the header's %d items take", count)
		case !errors.Is(err, io.EOF): // the gzip checksum, among others
			return readFailed(err, "the trailer")
		}
	}
	return result, nil
}
