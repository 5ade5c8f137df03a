// Package braille draws curves with the characters of Braille, whose eight dots
// make each cell of a terminal two by four points.
package braille

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Line is a curve; X ascends.
type Line struct {
	X, Y []float64
}

// Plot is a picture of curves within axes.
type Plot struct {
	// Width and Height are in characters, axes and labels included.
	Width, Height int
	// LogY has equal ratios stand equally far apart; what is not positive is left out.
	LogY bool
	// XLabel stands below.
	XLabel string
	// Marks, if there are any, stand for the lines where they end, in the column
	// right of the picture.
	Marks []rune
}

// smallest is what a picture needs at least.
const (
	smallestWidth  = 24
	smallestHeight = 4
)

// Draw returns the picture, line by line, or nil if there is nothing to draw.
func (p *Plot) Draw(lines []Line) []string {
	width, height := max(p.Width, smallestWidth), max(p.Height, smallestHeight)
	left, right, low, high := p.bounds(lines)
	if left > right {
		return nil
	}
	if left == right {
		left, right = left-0.5, right+0.5
	}
	if low == high {
		low, high = low-1, high+1
	}
	top, bottom := label(p.back(high)), label(p.back(low))
	margin := max(len([]rune(top)), len([]rune(bottom))) + 1
	marked := len(p.Marks)
	if marked > 0 {
		marked++ // the space before
	}
	columns, rows := max(width-margin-1-marked, 4), height-2 // two are for the axis across
	dots := newCanvas(columns, rows)
	ends := make([]int, len(lines))
	for i, l := range lines {
		ends[i] = -1
		px, py, pen := 0, 0, false
		for k, x := range l.X {
			y, ok := p.value(l.Y[k])
			if !ok {
				pen = false
				continue
			}
			cx := int(math.Round((x - left) / (right - left) * float64(2*columns-1)))
			cy := int(math.Round((high - y) / (high - low) * float64(4*rows-1)))
			if pen {
				dots.line(px, py, cx, cy)
			} else {
				dots.set(cx, cy)
			}
			px, py, pen = cx, cy, true
			ends[i] = cy / 4
		}
	}
	marks := make([]string, rows)
	for i, mark := range p.Marks {
		if i < len(ends) && ends[i] >= 0 {
			marks[ends[i]] += string(mark)
		}
	}
	var text []string
	for row, cells := range dots.rows() {
		name, edge := "", "│"
		switch row {
		case 0:
			name, edge = top, "┤"
		case rows - 1:
			name, edge = bottom, "┤"
		}
		text = append(text, strings.TrimRight(fmt.Sprintf("%*s %s%s %s", margin-1, name, edge, cells, marks[row]), " "))
	}
	first, last := label(left), label(right)
	text = append(text, strings.Repeat(" ", margin)+"└"+strings.Repeat("─", columns))
	between := max(columns-len([]rune(first))-len([]rune(last)), 1)
	middle := strings.Repeat(" ", between)
	if name := []rune(p.XLabel); len(name) > 0 && len(name)+2 <= between {
		at := (between - len(name)) / 2
		middle = strings.Repeat(" ", at) + p.XLabel + strings.Repeat(" ", between-at-len(name))
	}
	return append(text, strings.Repeat(" ", margin+1)+first+middle+last)
}

// bounds are the ends of the axes, left > right if there is no point.
func (p *Plot) bounds(lines []Line) (left, right, low, high float64) {
	left, right, low, high = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for i, x := range l.X {
			if y, ok := p.value(l.Y[i]); ok {
				left, right, low, high = min(left, x), max(right, x), min(low, y), max(high, y)
			}
		}
	}
	return left, right, low, high
}

// value is where a value stands upwards; false if it has no place.
func (p *Plot) value(y float64) (float64, bool) {
	if math.IsNaN(y) || math.IsInf(y, 0) || p.LogY && y <= 0 {
		return 0, false
	}
	if p.LogY {
		return math.Log(y), true
	}
	return y, true
}

func (p *Plot) back(y float64) float64 {
	if p.LogY {
		return math.Exp(y)
	}
	return y
}

// label is a number in few characters.
func label(v float64) string { return fmt.Sprintf("%.4g", v) }

// canvas is a picture of dots, two by four a character, by row and column.
type canvas [][]byte

func newCanvas(columns, rows int) canvas {
	c := make(canvas, rows)
	for i := range c {
		c[i] = make([]byte, columns)
	}
	return c
}

// bitsOf are the bits of a cell's dots in Unicode's order, by row and column.
var bitsOf = [4][2]byte{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func (c canvas) set(x, y int) {
	if x < 0 || y < 0 || y >= 4*len(c) || x >= 2*len(c[y/4]) {
		return
	}
	c[y/4][x/2] |= bitsOf[y%4][x%2]
}

// line sets the dots between two, by Bresenham's algorithm.
func (c canvas) line(x0, y0, x1, y1 int) {
	sx, sy := cmp.Compare(x1, x0), cmp.Compare(y1, y0)
	dx, dy := sx*(x1-x0), -sy*(y1-y0)
	for e := dx + dy; ; {
		c.set(x0, y0)
		if x0 == x1 && y0 == y1 {
			return
		}
		twice := 2 * e
		if twice >= dy {
			e += dy
			x0 += sx
		}
		if twice <= dx {
			e += dx
			y0 += sy
		}
	}
}

func (c canvas) rows() []string {
	text := make([]string, len(c))
	for i, row := range c {
		line := make([]rune, len(row))
		for k, bits := range row {
			line[k] = ' '
			if bits != 0 {
				line[k] = 0x2800 + rune(bits)
			}
		}
		text[i] = string(line)
	}
	return text
}
