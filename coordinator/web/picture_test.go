package web_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codeberg.org/go-fonts/liberation/liberationmonobold"
	"codeberg.org/go-fonts/liberation/liberationmonoregular"
	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansitalic"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-fonts/liberation/liberationserifregular"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"sweep/sweep/figure"
)

var update = flag.Bool("update", false, "write testdata/pictures anew: look at the pages in $SWEEP_SCREENSHOTS first")

// A picture of a page is compared in blocks, each the mean of its pixels: so it stays the same when
// another version of the browser smooths edges differently, and not when something is elsewhere, is
// missing, or has another colour.
const (
	blockSize = 16
	// tolerance is how far a channel of a block may be from that of the reference, of 255. Edges that
	// are smoothed differently, or letters half a pixel further on, come to 14 at most.
	tolerance = 12
	// maxBlocks of a picture, and one in fewBlocks of them besides, may be further away; one that is
	// several times as far counts several times.
	maxBlocks, fewBlocks = 3, 1000
	// tallest is where the picture of a long page ends.
	tallest = 2400
	// moments is how long a page that is not as its reference may still change.
	moments = 60 * time.Second
)

const (
	wide, high           = 1360, 900 // the window of all tests
	phoneWide, phoneHigh = 390, 844  // that of a phone
)

// fonts returns what has a browser know the fonts of this module alone, whatever the machine has.
func fonts(t testing.TB) (environment string) {
	t.Helper()
	dir := t.TempDir()
	files := map[string][]byte{
		"sans.ttf": liberationsansregular.TTF, "sans-bold.ttf": liberationsansbold.TTF,
		"sans-italic.ttf": liberationsansitalic.TTF,
		"mono.ttf":        liberationmonoregular.TTF, "mono-bold.ttf": liberationmonobold.TTF,
		"serif.ttf": liberationserifregular.TTF,
		"fonts.conf": []byte(`<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>` + dir + `</dir>
  <cachedir>` + filepath.Join(dir, "cache") + `</cachedir>
  <alias binding="same"><family>monospace</family><prefer><family>Liberation Mono</family></prefer></alias>
  <alias binding="same"><family>sans-serif</family><prefer><family>Liberation Sans</family></prefer></alias>
  <alias binding="same"><family>serif</family><prefer><family>Liberation Serif</family></prefer></alias>
  <alias binding="same"><family>system-ui</family><prefer><family>Liberation Sans</family></prefer></alias>
  <match target="pattern">
    <edit name="family" mode="append_last"><string>Liberation Sans</string></edit>
  </match>
  <match target="font">
    <edit name="antialias" mode="assign"><bool>true</bool></edit>
    <edit name="hinting" mode="assign"><bool>false</bool></edit>
    <edit name="rgba" mode="assign"><const>none</const></edit>
  </match>
</fontconfig>
`),
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "FONTCONFIG_FILE=" + filepath.Join(dir, "fonts.conf")
}

// frozen is run in every page before its own modules: what it says of times is the same whenever it
// is read, nothing blinks or moves, and it counts the requests that were not answered yet.
const frozen = `{
	const now = Date.now;
	Date.now = () => location.hash.startsWith("#/workers") ? Date.UTC(2026, 2, 1, 14) : now();
	Date.prototype.toLocaleString = () => "1 Mar 2026, 12:00";
	Date.prototype.toLocaleTimeString = () => "12:00:00";
	const still = new CSSStyleSheet();
	still.replaceSync("* { caret-color: transparent !important; transition: none !important; animation: none !important; }");
	document.adoptedStyleSheets = [still];
	const fetched = window.fetch;
	window.unanswered = 0;
	window.fetch = async (...request) => {
		window.unanswered++;
		try {
			return await fetched(...request);
		} finally {
			window.unanswered--;
		}
	};
}`

// freeze has all pages of the browser be the same whenever they are opened.
func (b *browser) freeze() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: frozen})
	if err != nil {
		b.t.Fatal(err)
	}
	b.resize(wide, high)
}

func (b *browser) resize(width, height int64) {
	b.t.Helper()
	size := emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1}
	if _, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, size); err != nil {
		b.t.Fatal(err)
	}
}

// picture holds that the page looks as in testdata/pictures. It may take a while until it does: a
// chart is drawn after the text around it.
func (b *browser) picture(name string) {
	b.t.Helper()
	if testing.Short() {
		return // under the race detector pictures take long to decode
	}
	b.until(`[...document.querySelectorAll("header button")].every((x) => x.textContent !== "Not connected") ||
		document.querySelector(".lost, main input[name=token]")`)
	// Else a page may be as its reference for a moment, or become one, before a part of it has come.
	b.until(`window.unanswered === 0 || document.querySelector("main")?.innerText.includes("Loading")`)
	path := filepath.Join("testdata", "pictures", name+".png")
	reference, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Fatal(err)
	}
	var want *image.RGBA
	if err == nil {
		if want, err = decode(reference); err != nil {
			b.t.Fatalf("%s: %v", path, err)
		}
	}
	var shot []byte
	var got *image.RGBA
	difference := "there is none"
	for deadline := time.Now().Add(moments); ; time.Sleep(100 * time.Millisecond) {
		last := got
		shot = b.screenshot()
		whole, err := decode(shot)
		if err != nil {
			b.t.Fatalf("%s: %v", name, err)
		}
		got = reduce(whole)
		if want != nil {
			difference = differ(got, want)
		}
		if difference == "" || (*update || want == nil) && last != nil && differ(got, last) == "" ||
			time.Now().After(deadline) {
			break
		}
	}
	if folder := os.Getenv("SWEEP_SCREENSHOTS"); folder != "" {
		if err := write(filepath.Join(folder, name+".png"), shot); err != nil {
			b.t.Fatal(err)
		}
	}
	switch {
	case difference == "":
	case *update:
		for i := range got.Pix {
			if i%4 != 3 {
				got.Pix[i] = got.Pix[i]&^3 | 2 // one in four levels: the file takes half as much
			}
		}
		var small bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, got); err != nil {
			b.t.Fatal(err)
		}
		if err := write(path, small.Bytes()); err != nil {
			b.t.Fatal(err)
		}
	default:
		b.t.Errorf("the page is not as in %s: %s. SWEEP_SCREENSHOTS=FOLDER keeps the page; -update writes the picture anew",
			path, difference)
	}
}

// Each reference is that of a page with which a test compares: the sources of the tests have its name, or its parts as
// in "one-" + view.
func TestPicturesAreOfPages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, path := range files {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(source)
	}
	named := func(text string) bool { return strings.Contains(sources.String(), `"`+text+`"`) }
	pictures, err := filepath.Glob(filepath.Join("testdata", "pictures", "*"))
	if err != nil || len(pictures) == 0 {
		t.Fatalf("%d pictures: %v", len(pictures), err)
	}
	for _, path := range pictures {
		name, ok := strings.CutSuffix(filepath.Base(path), ".png")
		name = strings.TrimSuffix(strings.TrimSuffix(name, "-dark"), "-phone")
		prefix, rest, _ := strings.Cut(name, "-")
		parts := named(prefix+"-") && (named(rest) || slices.Contains(figure.Kinds, rest))
		if !ok || !named(name) && !parts {
			t.Errorf("no test compares a page with %s: remove it", path)
		}
	}
}

// screenshot returns a picture of the page from its beginning.
func (b *browser) screenshot() []byte {
	b.t.Helper()
	// Folders of this test have names of their own each time, and a report has the time of its sweep.
	evaluate[bool](b, `{ const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data
			.replace(/file:[^ ;]+/, "file:///artifacts").replace(/created [0-9-]+ [0-9:]+ UTC/, "created 2026-03-01 12:00 UTC"); true }`)
	// What was changed last is on the screen after two frames.
	size := evaluate[[]float64](b, `document.fonts.ready.then(() => new Promise((done) =>
		requestAnimationFrame(() => requestAnimationFrame(() =>
		done([innerWidth, innerHeight, document.documentElement.scrollHeight, document.querySelector("dialog") ? 1 : 0])))))`)
	yes := true
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng, OptimizeForSpeed: &yes}
	if size[2] > size[1] && size[3] == 0 { // a dialog is in the middle of the window
		params.CaptureBeyondViewport = &yes
		params.Clip = &page.Viewport{Width: size[0], Height: min(size[2], tallest), Scale: 1}
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Call(ctx, page.CaptureScreenshot, params)
	if err != nil {
		b.t.Fatalf("taking a picture: %v; the page said %q", err, b.said())
	}
	return result.Data
}

func decode(data []byte) (*image.RGBA, error) {
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	switch decoded := decoded.(type) {
	case *image.RGBA:
		return decoded, nil
	case *image.NRGBA: // a page has no holes
		return &image.RGBA{Pix: decoded.Pix, Stride: decoded.Stride, Rect: decoded.Rect}, nil
	}
	return nil, fmt.Errorf("its pixels are of the kind %T", decoded)
}

// reduce returns the mean of each block of a picture.
func reduce(whole *image.RGBA) *image.RGBA {
	size := whole.Bounds().Size()
	small := image.NewRGBA(image.Rect(0, 0, (size.X+blockSize-1)/blockSize, (size.Y+blockSize-1)/blockSize))
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			block := image.Rect(x, y, x+1, y+1)
			block.Min, block.Max = block.Min.Mul(blockSize), block.Max.Mul(blockSize)
			block = block.Intersect(whole.Rect)
			var sum [3]int
			for row := block.Min.Y; row < block.Max.Y; row++ {
				for pixels := range slices.Chunk(whole.Pix[whole.PixOffset(block.Min.X, row):whole.PixOffset(block.Max.X, row)], 4) {
					sum[0] += int(pixels[0])
					sum[1] += int(pixels[1])
					sum[2] += int(pixels[2])
				}
			}
			n := block.Dx() * block.Dy()
			small.SetRGBA(x, y, color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255})
		}
	}
	return small
}

// differ says how a reduced picture differs from another, "" if it does not.
func differ(got, want *image.RGBA) string {
	is, was := got.Rect.Size(), want.Rect.Size()
	if is.X != was.X || max(is.Y-was.Y, was.Y-is.Y) > 1 { // a line may be a pixel higher
		return fmt.Sprintf("it is %d × %d pixels large, not %d × %d", is.X*blockSize, is.Y*blockSize, was.X*blockSize,
			was.Y*blockSize)
	}
	blocks, weight, most := 0, 0, 0
	var where image.Rectangle
	common := got.Rect.Intersect(want.Rect)
	for y := range common.Dy() {
		for x := range common.Dx() {
			a, b, far := got.RGBAAt(x, y), want.RGBAAt(x, y), 0
			for _, channel := range [][2]uint8{{a.R, b.R}, {a.G, b.G}, {a.B, b.B}} {
				far = max(far, int(channel[0])-int(channel[1]), int(channel[1])-int(channel[0]))
			}
			if most = max(most, far); far > tolerance {
				blocks++
				weight += far / (tolerance + 1)
				where = where.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	total := common.Dx() * common.Dy()
	if weight <= maxBlocks+total/fewBlocks {
		return ""
	}
	return fmt.Sprintf("%d of %d blocks have other colours, by up to %d of 255, in the pixels from %v to %v", blocks, total, most,
		where.Min.Mul(blockSize), where.Max.Mul(blockSize))
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
