package braille

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the pictures anew")

func line(n int, f func(x float64) float64) Line {
	var l Line
	for i := range n {
		x := float64(i + 1)
		l.X, l.Y = append(l.X, x), append(l.Y, f(x))
	}
	return l
}

// The pictures are in testdata: look at them, they should please.
func TestDraw(t *testing.T) {
	for name, picture := range map[string]struct {
		plot  Plot
		lines []Line
	}{
		"falling": {Plot{Width: 60, Height: 12, XLabel: "epoch"}, []Line{line(100, func(x float64) float64 {
			return 2 * math.Exp(-x/20)
		})}},
		"log": {Plot{Width: 60, Height: 12, LogY: true}, []Line{line(100, func(x float64) float64 {
			return 2 * math.Exp(-x/20)
		})}},
		"two": {Plot{Width: 60, Height: 12, Marks: []rune("ab")},
			[]Line{line(50, math.Sin), line(60, func(x float64) float64 { return x / 60 })}},
		"constant": {Plot{Width: 40, Height: 6}, []Line{line(5, func(float64) float64 { return 3 })}},
		"point":    {Plot{Width: 40, Height: 6}, []Line{line(1, func(float64) float64 { return 3 })}},
		"gap": {Plot{Width: 40, Height: 8}, []Line{line(40, func(x float64) float64 {
			if x > 15 && x < 25 {
				return math.NaN()
			}
			return x
		})}},
	} {
		got := strings.Join(picture.plot.Draw(picture.lines), "\n") + "\n"
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// A picture keeps its size whatever it shows, and there is none of nothing.
func TestSize(t *testing.T) {
	none := []Line{{}, {X: []float64{1}, Y: []float64{math.NaN()}}, {X: []float64{1}, Y: []float64{math.Inf(1)}}}
	if got := (&Plot{Width: 40, Height: 10}).Draw(none); got != nil {
		t.Errorf("a picture of nothing: %q", got)
	}
	if got := (&Plot{Width: 40, Height: 10, LogY: true}).Draw([]Line{line(3, func(float64) float64 {
		return -1
	})}); got != nil {
		t.Errorf("a logarithmic picture of negative values: %q", got)
	}
	for width := range 90 {
		for height := range 20 {
			p := Plot{Width: width, Height: height, XLabel: "step", Marks: []rune("ab")}
			lines := p.Draw([]Line{line(30, func(x float64) float64 { return 1e5 * math.Sin(x) }), line(3, math.Sqrt)})
			if len(lines) != max(height, smallestHeight) {
				t.Fatalf("%d × %d: %d lines", width, height, len(lines))
			}
			for _, text := range lines {
				if utf8.RuneCountInString(text) > max(width, smallestWidth) {
					t.Fatalf("%d × %d: a line of %d characters: %q", width, height, utf8.RuneCountInString(text), text)
				}
			}
		}
	}
}
