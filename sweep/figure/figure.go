package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strings"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"sweep/sweep/frame"
)

// Figure is a picture that is ready to be written.
type Figure struct {
	width, height vg.Length
	title         string
	// notes stand below the picture: what it shows, and what it leaves out.
	notes []string
	// draw fills the space between title and notes.
	draw func(c draw.Canvas)
	// lines are those that curves draw, over a logarithmic axis or not.
	lines       []line
	logarithmic bool
}

// Area is that of the picture in square centimetres: the time and memory that PNG takes grow with it.
func (f *Figure) Area() float64 { return float64(f.width / vg.Centimeter * f.height / vg.Centimeter) }

// note adds a sentence to the notes.
func (f *Figure) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

// noteGroups notes that groups are not drawn.
func (f *Figure) noteGroups(drawn, all int) {
	if drawn < all {
		f.note("The best %d of %d groups.", drawn, all)
	}
}

// noteLeftOut notes how many trials are not drawn, and why; without is what the others lack.
func (f *Figure) noteLeftOut(d *data, drawn int, without string) {
	var parts []string
	for _, c := range []struct {
		n    int64
		what string
	}{{d.counts[frame.Diverged], "diverged"}, {d.counts[frame.Failed], "failed"},
		{d.counts[frame.Stopped], "stopped early"}, {d.counts[frame.Skipped], "skipped"},
		{d.counts[frame.Cancelled], "cancelled"}, {d.unfinished(), "not ended"}, {d.repeated, "that another sweep has too"},
		{d.counts[frame.Completed] - int64(drawn), "without " + without}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if parts != nil {
		f.note("Not drawn: %s.", strings.Join(parts, ", "))
	}
}

// Formats are the formats in which a Figure can be written.
var Formats = []string{"svg", "png"}

// resolution is that of PNG, in dots an inch.
const resolution = 300

// Write writes the figure in a format of Formats.
func (f *Figure) Write(w io.Writer, format string) error {
	if !slices.Contains(Formats, format) {
		return fmt.Errorf("no format %q for figures: expected one of %s", format, strings.Join(Formats, ", "))
	}
	if format == "svg" {
		c := vgsvg.NewWith(vgsvg.UseWH(f.width, f.height), vgsvg.EmbedFonts(true))
		f.fill(draw.New(c), true)
		var svg bytes.Buffer
		if _, err := c.WriteTo(&svg); err != nil {
			return err
		}
		small, err := embedSubsets(svg.Bytes())
		if err != nil {
			return err
		}
		_, err = w.Write(small)
		return err
	}
	c := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(color.White))
	f.fill(draw.New(c), false)
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// Sizes of letters, in points.
const (
	titleSize = 10
	labelSize = 8.5
	tickSize  = 7.5
	noteSize  = 6.5
)

var (
	ink   = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	faint = color.NRGBA{0x6a, 0x6a, 0x6a, 0xff}
	rule  = color.NRGBA{0xdd, 0xdd, 0xdd, 0xff}
)

// fill draws title, picture and notes; opaque has it draw its background.
func (f *Figure) fill(c draw.Canvas, opaque bool) {
	if opaque {
		c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	}
	const margin = 6
	c = draw.Crop(c, margin, -margin, margin, -margin)
	title := letters(titleSize, ink, text.XLeft, text.YTop)
	title.Font.Weight = font.WeightBold
	if f.title != "" {
		write(c, title, vg.Point{X: c.Min.X, Y: c.Max.Y}, fit(title, f.title, c.Max.X-c.Min.X))
		c = draw.Crop(c, 0, 0, 0, -1.6*titleSize)
	}
	note := letters(noteSize, faint, text.XLeft, text.YBottom)
	lines := wrap(note, strings.Join(f.notes, " "), c.Max.X-c.Min.X)
	for i, line := range lines {
		write(c, note, vg.Point{X: c.Min.X, Y: c.Min.Y + vg.Length(len(lines)-1-i)*1.3*noteSize}, line)
	}
	c = draw.Crop(c, 0, 0, vg.Length(len(lines))*1.3*noteSize+4, 0)
	f.draw(c)
}

// letters is the style of a text.
func letters(size vg.Length, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color: c, Font: plotfont.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, XAlign: x, YAlign: y,
		Handler: text.Plain{Fonts: plotfont.DefaultCache},
	}
}

// write draws a text. What is centred upwards is centred by its small letters and
// digits, not by its descenders.
func write(c draw.Canvas, style text.Style, at vg.Point, words string) {
	if style.YAlign == text.YCenter {
		at.Y += 0.1 * style.Font.Size
	}
	c.FillText(style, at, words)
}

// fit cuts a text to a width.
func fit(style text.Style, words string, width vg.Length) string {
	if style.Width(words) <= width {
		return words
	}
	runes := []rune(words)
	for len(runes) > 0 && style.Width(string(runes)+"…") > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// wrap breaks a text into lines of a width.
func wrap(style text.Style, words string, width vg.Length) (lines []string) {
	line := ""
	for _, word := range strings.Fields(words) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && style.Width(longer) > width {
			lines, line = append(lines, line), word
			continue
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// stroke is a line of a width in points.
func stroke(c color.Color, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}

// axes is a plot with this package's axes.
func axes(x, y scale) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []struct {
		axis  *plot.Axis
		scale scale
	}{{&p.X, x}, {&p.Y, y}} {
		a.axis.Label.Text = a.scale.label
		a.axis.Label.TextStyle = letters(labelSize, ink, text.XCenter, text.YBottom)
		a.axis.Label.Padding = 3
		a.axis.LineStyle = stroke(faint, 0.5)
		a.axis.Tick.LineStyle = stroke(faint, 0.5)
		a.axis.Tick.Length = 3
		a.axis.Padding = 4
		a.axis.Tick.Marker = a.scale
		a.axis.Min, a.axis.Max = a.scale.low, a.scale.high
		if a.scale.log {
			a.axis.Scale = plot.LogScale{}
		}
	}
	p.Y.Label.Text = "" // gonum places it by its value, which a logarithmic axis has elsewhere
	p.X.Tick.Label = letters(tickSize, ink, text.XCenter, text.YTop)
	p.Y.Tick.Label = letters(tickSize, ink, text.XRight, text.YCenter)
	return p
}

// layer is a plotter made of a function of the canvas and its scales.
type layer func(c draw.Canvas, x, y func(float64) vg.Length)

// Plot implements plot.Plotter.
func (l layer) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	l(c, x, y)
}

// grid draws a faint line at each labelled tick of the vertical axis.
func grid(s scale) layer {
	return func(c draw.Canvas, _, y func(float64) vg.Length) {
		for _, t := range s.Ticks(s.low, s.high) {
			if t.Label != "" {
				c.StrokeLine2(stroke(rule, 0.4), c.Min.X, y(t.Value), c.Max.X, y(t.Value))
			}
		}
	}
}
