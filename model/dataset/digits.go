package dataset

import "sweep/model/random"

// glyphs are the ten digits, seven rows of five pixels each; the first pixel of a row is its highest bit.
var glyphs = [10][7]byte{
	{0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e}, {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e},
	{0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f}, {0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e},
	{0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02}, {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e},
	{0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e}, {0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08},
	{0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e}, {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c},
}

// GenerateMNIST returns images of the shape and classes of MNIST, so many to train and to test on, that need no files:
// printed digits three times as large as their five by seven pixels, anywhere in the image, of their own brightness,
// and all noisy. The digits take turns. A seed gives the same bits everywhere. It is for trying out what
// trains on MNIST: accuracies on the two need not agree.
func GenerateMNIST(seed uint64, train, test int) *Set {
	s := newMNIST(GeneratedMNIST)
	source := random.New(seed, random.Series)
	s.Train, s.Test = digitsPart(source, train), digitsPart(source, test)
	s.seal()
	return s
}

// generatedImages is how many there are at most to train on, and four times as many as to test on.
const generatedImages = 2000

func digitsPart(source *random.Source, n int) Part {
	p := Part{N: n, Bytes: make([]byte, n*mnistPixels), Labels: make([]int, n)}
	for i := range n {
		p.Labels[i] = i % 10
		drawDigit(p.Bytes[i*mnistPixels:][:mnistPixels], source, &glyphs[i%10])
	}
	return p
}

// drawDigit draws one image.
func drawDigit(dst []byte, source *random.Source, glyph *[7]byte) {
	const scale, noise = 3, 48
	for i := range dst {
		dst[i] = byte(source.Below(noise))
	}
	top, left := source.Below(mnistSide-7*scale+1), source.Below(mnistSide-5*scale+1)
	bright := byte(150 + source.Below(105-noise))
	for y := range 7 * scale {
		for x := range 5 * scale {
			if glyph[y/scale]>>(4-x/scale)&1 == 1 {
				dst[(top+y)*mnistSide+left+x] += bright
			}
		}
	}
}
