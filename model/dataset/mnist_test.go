package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sweep/model/random"
)

// The generated images have the bits of their seed, and an image of each digit in every ten.
func TestGeneratedMNIST(t *testing.T) {
	s, err := Open("", Reference{Name: "Generated-MNIST"})
	if err != nil || s.Digest != GenerateMNIST(0, 2000, 500).Digest || s.Digest == GenerateMNIST(1, 2000, 500).Digest {
		t.Errorf("the bits are not those of the seed: %v", err)
	}
	few, err := Open("", Reference{Name: GeneratedMNIST, Limit: 20})
	if err != nil || few.Train.N != 20 || few.Test.N != 20 || few.Depth != 784 || few.OutputWidth != 10 {
		t.Errorf("%+v, %v", few, err)
	}
	for i := range 20 {
		ink := 0
		for _, pixel := range few.Train.Bytes[i*784:][:784] {
			if pixel >= 150 {
				ink++
			}
		}
		pixels := 0
		for _, row := range glyphs[few.Train.Labels[i]] {
			pixels += bits.OnesCount8(row)
		}
		if few.Train.Labels[i] != i%10 || ink != 9*pixels {
			t.Errorf("image %d of digit %d has %d bright pixels, want %d", i, few.Train.Labels[i], ink, 9*pixels)
		}
	}
}

func images(n int) string {
	b := []byte{0, 0, 8, 3, 0, 0, 0, byte(n), 0, 0, 0, 28, 0, 0, 0, 28}
	for i := range n * mnistPixels {
		b = append(b, byte(i*3+i/784))
	}
	return string(b)
}

func labels(values ...byte) string {
	return string(append([]byte{0, 0, 8, 1, 0, 0, 0, byte(len(values))}, values...))
}

// writeMNIST writes four files of 4 and 3 images; replace takes the place of some of them, "" leaves one out.
func writeMNIST(t testing.TB, replace map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"train-images-idx3-ubyte": images(4),
		"train-labels-idx1-ubyte": labels(7, 0, 9, 1),
		"t10k-images-idx3-ubyte":  images(3),
		"t10k-labels-idx1-ubyte":  labels(2, 2, 8),
	}
	for name, content := range replace {
		stem, _ := strings.CutSuffix(name, ".gz")
		delete(files, stem)
		if content != "" {
			files[name] = content
		}
	}
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func TestMNIST(t *testing.T) {
	s, err := LoadMNIST(filepath.Join(realData(t), "mnist"), MNISTOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "mnist" || s.Train.N != 60000 || s.Test.N != 10000 || s.Length != 784 || s.Classes != 10 ||
		s.OutputWidth != 10 {
		t.Errorf("%d and %d images, length %d, %d classes", s.Train.N, s.Test.N, s.Length, s.Classes)
	}
	for part, c := range map[*Part][]int{
		&s.Train: {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949},
		&s.Test:  {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009},
	} {
		got := make([]int, 10)
		for _, label := range part.Labels {
			got[label]++
		}
		if !slices.Equal(got, c) {
			t.Errorf("class counts %v, want %v", got, c)
		}
	}
	// The mean and deviation that everyone normalises MNIST with.
	sum, squares := 0.0, 0.0
	for _, v := range s.Train.Bytes {
		x := float64(unitInterval[v])
		sum += x
		squares += x * x
	}
	n := float64(len(s.Train.Bytes))
	if mean, second := sum/n, squares/n; fmt.Sprintf("%.4f %.4f", mean, second-mean*mean) != "0.1307 0.0949" {
		t.Errorf("mean %.4f, variance %.4f", mean, second-mean*mean)
	}
	if s.Size() > 60<<20 {
		t.Errorf("takes %d bytes", s.Size())
	}
}

func TestMNISTForms(t *testing.T) {
	plain := writeMNIST(t, nil)
	want, err := LoadMNIST(plain, MNISTOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want.Train.N != 4 || !slices.Equal(want.Train.Labels, []int{7, 0, 9, 1}) ||
		!slices.Equal(want.Test.Labels, []int{2, 2, 8}) || string(want.Train.Bytes) != images(4)[16:] {
		t.Errorf("got %+v", want)
	}
	dir := writeMNIST(t, map[string]string{
		"train-images-idx3-ubyte":    "",
		"train-images-idx3-ubyte.gz": packed(t, images(4)),
		"t10k-labels-idx1-ubyte":     packed(t, labels(2, 2, 8)),
		"train-labels-idx1-ubyte":    "",
		"train-labels.idx1-ubyte":    labels(7, 0, 9, 1),
	})
	if got, err := LoadMNIST(dir, MNISTOptions{}); err != nil || got.Digest != want.Digest {
		t.Errorf("packed: %v", err)
	}

	limited, err := LoadMNIST(plain, MNISTOptions{Limit: 2})
	if err != nil || limited.Train.N != 2 || limited.Test.N != 2 ||
		string(limited.Test.Bytes) != images(3)[16:16+2*mnistPixels] ||
		!slices.Equal(limited.Train.Labels, []int{7, 0}) {
		t.Errorf("limited: %v", err)
	}
	if _, err := LoadMNIST(plain, MNISTOptions{Limit: -1}); err == nil {
		t.Error("a negative limit is taken")
	}

	permuted, err := LoadMNIST(plain, MNISTOptions{Permuted: true, PermutationSeed: 1})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := LoadMNIST(plain, MNISTOptions{Permuted: true, PermutationSeed: 1})
	other, _ := LoadMNIST(plain, MNISTOptions{Permuted: true, PermutationSeed: 2})
	if permuted.Name != "permuted-mnist" || permuted.Digest != again.Digest || permuted.Digest == other.Digest ||
		permuted.Digest == want.Digest {
		t.Error("the permutation does not follow its seed")
	}
	// The same permutation in every image of both parts.
	order := random.New(1, random.Permutation).Permutation(mnistPixels)
	for _, pair := range [][2]*Part{{&permuted.Train, &want.Train}, {&permuted.Test, &want.Test}} {
		for i, v := range pair[0].Bytes {
			if w := pair[1].Bytes[i/mnistPixels*mnistPixels+order[i%mnistPixels]]; v != w {
				t.Fatalf("byte %d is %d, want %d", i, v, w)
			}
		}
	}
}

func TestBadMNIST(t *testing.T) {
	edited := func(content string, at int, value uint32) string {
		b := []byte(content)
		binary.BigEndian.PutUint32(b[at:], value)
		return string(b)
	}
	for _, c := range []struct {
		name, file, content string
		kind                error
		want                string
	}{
		{"missing", "t10k-labels-idx1-ubyte", "", fs.ErrNotExist, "DIR/t10k-labels-idx1-ubyte: file does not exist: " +
			"nor is it there as t10k-labels-idx1-ubyte.gz"},
		{"labels for images", "train-images-idx3-ubyte", labels(1, 2, 3, 4, 5, 6, 7, 8), ErrForm,
			"DIR/train-images-idx3-ubyte: unsupported form: magic number 2049 where 2051 is expected"},
		{"images for labels", "train-labels-idx1-ubyte", images(4), ErrForm, "DIR/train-labels-idx1-ubyte: " +
			"unsupported form: magic number 2051 where 2049 is expected"},
		{"empty", "train-images-idx3-ubyte", "x", ErrTruncated, "DIR/train-images-idx3-ubyte: truncated file: it " +
			"ends within the header; fetch the file again"},
		{"cut", "train-images-idx3-ubyte", images(4)[:16+2*784+5], ErrTruncated, "DIR/train-images-idx3-ubyte: " +
			"truncated file: it ends within item 3 of 4; fetch the file again"},
		{"cut packed", "train-images-idx3-ubyte.gz", packed(t, images(4))[:60], ErrTruncated,
			"DIR/train-images-idx3-ubyte.gz: truncated file: it ends within item 1 of 4; fetch the file again"},
		{"spoilt gzip", "t10k-labels-idx1-ubyte", "\x1f\x8bspoilt and longer than a header", ErrForm,
			"DIR/t10k-labels-idx1-ubyte: unsupported form: gzip: invalid header"},
		{"bad checksum", "t10k-labels-idx1-ubyte", func() string {
			p := []byte(packed(t, labels(2, 2, 8)))
			p[len(p)-8] ^= 1
			return string(p)
		}(), ErrForm, "DIR/t10k-labels-idx1-ubyte: unsupported form: gzip: invalid checksum"},
		{"more bytes", "t10k-labels-idx1-ubyte", labels(2, 2, 8) + "x", ErrForm, "DIR/t10k-labels-idx1-ubyte: " +
			"unsupported form: more bytes than the header's 3 items take"},
		{"other size", "t10k-images-idx3-ubyte", edited(images(3), 12, 27), ErrForm, "DIR/t10k-images-idx3-ubyte: " +
			"unsupported form: images of 28 x 27 pixels where 28 x 28 are expected"},
		{"no items", "t10k-images-idx3-ubyte", edited(images(3), 4, 0), ErrEmpty, "DIR/t10k-images-idx3-ubyte: no " +
			"data: the header tells of no items"},
		{"boastful", "t10k-images-idx3-ubyte", edited(images(3), 4, 4000000), ErrTruncated,
			"DIR/t10k-images-idx3-ubyte: truncated file: it ends within item 4 of 4000000; fetch the file again"},
		{"absurd", "t10k-images-idx3-ubyte", edited(images(3), 4, 1<<32-1), ErrForm, "DIR/t10k-images-idx3-ubyte: " +
			"unsupported form: the header tells of 4294967295 items"},
		{"other count", "t10k-labels-idx1-ubyte", labels(2, 2), ErrForm, "DIR/t10k-labels-idx1-ubyte: unsupported " +
			"form: 2 labels for the 3 images of DIR/t10k-images-idx3-ubyte"},
		{"no digit", "t10k-labels-idx1-ubyte", labels(2, 10, 8), ErrLabel, "DIR/t10k-labels-idx1-ubyte:2: bad label: " +
			"10 is no digit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeMNIST(t, map[string]string{c.file: c.content})
			_, err := LoadMNIST(dir, MNISTOptions{})
			if err == nil {
				t.Fatal("no error")
			}
			if got := strings.ReplaceAll(err.Error(), dir, "DIR"); got != c.want || !errors.Is(err, c.kind) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
