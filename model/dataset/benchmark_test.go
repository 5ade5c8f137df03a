package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sweep/model/random"
)

func BenchmarkLoadUCR(b *testing.B) {
	dir := filepath.Join(realData(b), "ucr")
	for _, name := range []string{"CBF", "ECG5000"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := LoadUCR(dir, name, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseDelimited(b *testing.B) {
	path := filepath.Join(realData(b), "ucr", "ECG5000", "ECG5000_TEST.tsv")
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseDelimited(path, data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadMNIST(b *testing.B) {
	dir := filepath.Join(realData(b), "mnist")
	for b.Loop() {
		if _, err := LoadMNIST(dir, MNISTOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenCached(b *testing.B) {
	dir := realData(b)
	c := NewCache(1 << 20)
	for b.Loop() {
		if _, err := c.Open(dir, Reference{Name: "CBF"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGather(b *testing.B) {
	for _, shape := range []struct{ length, inputSize, batch int }{
		{128, 8, 16}, {131, 1, 16}, {150, 10, 16}, {784, 1, 128}, {784, 2, 512}, {784, 28, 128},
	} {
		for _, bytes := range []bool{false, true} {
			kind := "float32"
			if bytes {
				kind = "uint8"
			}
			b.Run(fmt.Sprintf("%s/steps=%d/input=%d/batch=%d", kind, shape.length/shape.inputSize, shape.inputSize,
				shape.batch), func(b *testing.B) {
				p := numberedPart(2048, shape.length, bytes)
				s, err := Arrange(p, OrderPieces, shape.length/shape.inputSize, shape.inputSize)
				if err != nil {
					b.Fatal(err)
				}
				rows := random.New(1, 1).Permutation(p.N)
				dst := make([]float32, shape.length*shape.batch)
				b.SetBytes(int64(4 * len(dst)))
				next := 0
				for b.Loop() {
					if next+shape.batch > len(rows) {
						next = 0
					}
					s.Gather(dst, rows[next:next+shape.batch])
					next += shape.batch
				}
			})
		}
	}
}
