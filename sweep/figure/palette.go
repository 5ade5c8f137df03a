package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// groupColours are those of Okabe and Ito (Color Universal Design, 2008) that show
// on white.
var groupColours = []color.NRGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x00, 0x9e, 0x73, 0xff}, // bluish green
	{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	{0x00, 0x00, 0x00, 0xff}, // black
}

// groupColour is the colour of group i.
func groupColour(i int) color.NRGBA { return groupColours[i%len(groupColours)] }

// groupDashes tell groups apart that share a colour.
func groupDashes(i int) []vg.Length {
	return [][]vg.Length{nil, {5, 2}, {1.5, 1.5}, {6, 2, 1.5, 2}}[i/len(groupColours)%4]
}

// pale is a colour through which one sees.
func pale(c color.NRGBA, opacity float64) color.NRGBA {
	c.A = uint8(math.Round(255 * opacity))
	return c
}

// viridis by Smith and van der Walt, at every eighth.
var viridisStops = [][3]float64{
	{68, 1, 84}, {71, 45, 123}, {59, 82, 139}, {44, 114, 142}, {33, 145, 140}, {40, 174, 128}, {94, 201, 98},
	{173, 220, 48}, {253, 231, 37},
}

// viridis is the colour of a value from 0 to 1: dark to light.
func viridis(v float64) color.NRGBA {
	v = min(max(v, 0), 1) * float64(len(viridisStops)-1)
	i := min(int(v), len(viridisStops)-2)
	at := v - float64(i)
	mix := func(k int) uint8 {
		return uint8(math.Round(viridisStops[i][k] + at*(viridisStops[i+1][k]-viridisStops[i][k])))
	}
	return color.NRGBA{mix(0), mix(1), mix(2), 0xff}
}

// inkOn is the colour of letters that show on a colour.
func inkOn(c color.NRGBA) color.NRGBA {
	if 0.299*float64(c.R)+0.587*float64(c.G)+0.114*float64(c.B) > 140 {
		return ink
	}
	return color.NRGBA{0xff, 0xff, 0xff, 0xff}
}
