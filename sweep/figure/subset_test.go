package figure

import (
	"bytes"
	"encoding/base64"
	"reflect"
	"testing"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// The glyphs of a subset are those of the font: outlines and widths, composed ones
// too; other characters have none, and what is no font is refused.
func TestSubset(t *testing.T) {
	t.Parallel()
	const words = "spectral-rnn 0123456789 äéÅ−±×÷·…–√ Ω"
	for name, data := range map[string][]byte{"regular": liberationsansregular.TTF, "bold": liberationsansbold.TTF} {
		small, err := subset(data, []rune(words))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(small) > len(data)/20 {
			t.Errorf("%s: %d of %d bytes", name, len(small), len(data))
		}
		whole, err := sfnt.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		part, err := sfnt.Parse(small)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var buffer sfnt.Buffer
		glyph := func(f *sfnt.Font, r rune) (sfnt.Segments, fixed.Int26_6) {
			i, err := f.GlyphIndex(&buffer, r)
			if err != nil {
				t.Fatalf("%s: %q: %v", name, r, err)
			}
			segments, err := f.LoadGlyph(&buffer, i, fixed.I(1000), nil)
			if err != nil {
				t.Fatalf("%s: %q: %v", name, r, err)
			}
			width, err := f.GlyphAdvance(&buffer, i, fixed.I(1000), font.HintingNone)
			if err != nil {
				t.Fatalf("%s: %q: %v", name, r, err)
			}
			return append(sfnt.Segments(nil), segments...), width
		}
		for _, r := range words {
			want, wide := glyph(whole, r)
			got, width := glyph(part, r)
			if !reflect.DeepEqual(got, want) || width != wide {
				t.Errorf("%s: %q has %d segments and width %v, want %d and %v", name, r, len(got), width,
					len(want), wide)
			}
		}
		if i, err := part.GlyphIndex(&buffer, 'Q'); err != nil || i != 0 {
			t.Errorf("%s: Q is glyph %d, %v; it was not asked for", name, i, err)
		}
	}
	for _, broken := range [][]byte{nil, []byte("font"), bytes.Repeat([]byte{0xff}, 100),
		liberationsansregular.TTF[:1000]} {
		if _, err := subset(broken, []rune("a")); err == nil {
			t.Errorf("%d bytes that are no font are taken", len(broken))
		}
	}
	if _, err := embedSubsets([]byte(`font-weight:normal;src:base64,` +
		base64.StdEncoding.EncodeToString([]byte("no font at all")))); err == nil {
		t.Error("a picture with a broken font is taken")
	}
}
