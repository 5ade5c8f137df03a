package figure

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"html"
	"maps"
	"math/bits"
	"regexp"
	"slices"
	"sync"

	"golang.org/x/image/font/sfnt"
)

var (
	fontFace = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`font-weight:([a-z0-9]+);[^}]*?base64,([A-Za-z0-9+/=]+)`)
	})
	textStyle = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)<text[^>]*font-weight:([a-z0-9]+)[^>]*>([^<]*)</text>`)
	})
)

// embedSubsets makes the fonts that a picture carries small: of each only the
// glyphs stay that the picture's texts have, a few kilobytes of half a megabyte.
func embedSubsets(svg []byte) ([]byte, error) {
	used := map[string]map[rune]bool{}
	for _, match := range textStyle().FindAllSubmatch(svg, -1) {
		weight := string(match[1])
		if used[weight] == nil {
			used[weight] = map[rune]bool{}
		}
		for _, r := range html.UnescapeString(string(match[2])) {
			used[weight][r] = true
		}
	}
	var small bytes.Buffer
	end := 0
	for _, at := range fontFace().FindAllSubmatchIndex(svg, -1) {
		data, err := base64.StdEncoding.DecodeString(string(svg[at[4]:at[5]]))
		if err != nil {
			return nil, fmt.Errorf("embedded font: %w", err)
		}
		part, err := subset(data, slices.Sorted(maps.Keys(used[string(svg[at[2]:at[3]])])))
		if err != nil {
			return nil, fmt.Errorf("embedded font: %w", err)
		}
		small.Write(svg[end:at[4]])
		small.WriteString(base64.StdEncoding.EncodeToString(part))
		end = at[5]
	}
	small.Write(svg[end:])
	return small.Bytes(), nil
}

var errFont = errors.New("not a TrueType font with the tables that one needs")

// subset is a TrueType font with the glyphs of some characters alone (the OpenType
// specification, 1.9): it has a new cmap, glyf and loca, shorter metrics, and neither
// names of glyphs nor hints.
func subset(data []byte, characters []rune) ([]byte, error) {
	tables, err := fontTables(data)
	if err != nil {
		return nil, err
	}
	full, err := sfnt.Parse(data)
	if err != nil {
		return nil, err
	}
	// Glyph 0 stands for what is missing. The chosen ones get numbers in the order of
	// their old ones, so that composed glyphs can be told their parts' new numbers.
	var buffer sfnt.Buffer
	glyphOf := map[rune]uint16{}
	chosen := map[uint16]bool{0: true}
	for _, r := range characters {
		index, err := full.GlyphIndex(&buffer, r)
		if err != nil {
			return nil, err
		}
		if r <= 0xffff && index != 0 {
			glyphOf[r] = uint16(index)
			chosen[uint16(index)] = true
		}
	}
	glyphs, err := newGlyphs(tables)
	if err != nil {
		return nil, err
	}
	for waiting := slices.Sorted(maps.Keys(chosen)); len(waiting) > 0; waiting = waiting[1:] {
		parts, err := glyphs.parts(waiting[0])
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			if number := binary.BigEndian.Uint16(p); !chosen[number] {
				chosen[number] = true
				waiting = append(waiting, number)
			}
		}
	}
	order := slices.Sorted(maps.Keys(chosen))
	number := map[uint16]uint16{}
	for i, old := range order {
		number[old] = uint16(i)
	}
	var glyf, loca, hmtx []byte
	for _, old := range order {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		outline := slices.Clone(glyphs.outline(old))
		parts, err := (&glyphTable{glyf: outline, loca: []uint32{0, uint32(len(outline))}}).parts(0)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			binary.BigEndian.PutUint16(p, number[binary.BigEndian.Uint16(p)])
		}
		glyf = append(glyf, outline...)
		for len(glyf)%4 != 0 {
			glyf = append(glyf, 0)
		}
		hmtx = append(hmtx, glyphs.metrics(old)...)
	}
	loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
	head, hhea, maxp, post := slices.Clone(tables["head"]), slices.Clone(tables["hhea"]), slices.Clone(tables["maxp"]),
		slices.Clone(tables["post"][:32])
	binary.BigEndian.PutUint32(head[8:], 0)  // the checksum of the file, which comes last
	binary.BigEndian.PutUint16(head[50:], 1) // loca has 32 bits
	binary.BigEndian.PutUint16(hhea[34:], uint16(len(order)))
	binary.BigEndian.PutUint16(maxp[4:], uint16(len(order)))
	binary.BigEndian.PutUint32(post, 0x00030000) // no names
	return fontFile(map[string][]byte{
		"OS/2": tables["OS/2"], "cmap": cmapTable(glyphOf, number), "glyf": glyf, "head": head, "hhea": hhea,
		"hmtx": hmtx, "loca": loca, "maxp": maxp, "name": tables["name"], "post": post,
	}), nil
}

// fontTables are the tables of a font by name; those that subset needs are there, and
// as long as it takes them to be.
func fontTables(data []byte) (map[string][]byte, error) {
	if len(data) < 12 {
		return nil, errFont
	}
	tables := map[string][]byte{}
	for i := range int(binary.BigEndian.Uint16(data[4:])) {
		at := 12 + 16*i
		if at+16 > len(data) {
			return nil, errFont
		}
		offset, length := uint64(binary.BigEndian.Uint32(data[at+8:])), uint64(binary.BigEndian.Uint32(data[at+12:]))
		if offset+length > uint64(len(data)) {
			return nil, errFont
		}
		tables[string(data[at:at+4])] = data[offset : offset+length]
	}
	for name, least := range map[string]int{"OS/2": 2, "glyf": 0, "head": 54, "hhea": 36, "hmtx": 4, "loca": 4,
		"maxp": 6, "name": 6, "post": 32} {
		if table, ok := tables[name]; !ok || len(table) < least {
			return nil, errFont
		}
	}
	return tables, nil
}

// glyphTable are the outlines and widths of a font's glyphs.
type glyphTable struct {
	glyf, hmtx []byte
	loca       []uint32
	wide       int // how many glyphs have a width of their own; the others have the last one's
}

func newGlyphs(tables map[string][]byte) (*glyphTable, error) {
	g := &glyphTable{glyf: tables["glyf"], hmtx: tables["hmtx"],
		wide: int(binary.BigEndian.Uint16(tables["hhea"][34:]))}
	loca := tables["loca"]
	if binary.BigEndian.Uint16(tables["head"][50:]) == 0 {
		for ; len(loca) >= 2; loca = loca[2:] {
			g.loca = append(g.loca, 2*uint32(binary.BigEndian.Uint16(loca)))
		}
	} else {
		for ; len(loca) >= 4; loca = loca[4:] {
			g.loca = append(g.loca, binary.BigEndian.Uint32(loca))
		}
	}
	count := int(binary.BigEndian.Uint16(tables["maxp"][4:]))
	if len(g.loca) < count+1 || !slices.IsSorted(g.loca) || int(g.loca[len(g.loca)-1]) > len(g.glyf) || g.wide < 1 ||
		g.wide > count || len(g.hmtx) < 2*g.wide+2*count {
		return nil, errFont
	}
	return g, nil
}

func (g *glyphTable) outline(glyph uint16) []byte {
	if int(glyph)+1 >= len(g.loca) {
		return nil
	}
	return g.glyf[g.loca[glyph]:g.loca[glyph+1]]
}

// metrics are the width of a glyph and its left side.
func (g *glyphTable) metrics(glyph uint16) []byte {
	if int(glyph) < g.wide {
		return g.hmtx[4*int(glyph) : 4*int(glyph)+4]
	}
	last := g.hmtx[4*(g.wide-1):]
	side := g.hmtx[4*g.wide+2*(int(glyph)-g.wide):]
	return []byte{last[0], last[1], side[0], side[1]}
}

// parts are the places where a composed glyph has the numbers of its parts; none of
// a simple one.
func (g *glyphTable) parts(glyph uint16) (places [][]byte, err error) {
	outline := g.outline(glyph)
	if len(outline) < 10 || int16(binary.BigEndian.Uint16(outline)) >= 0 {
		return nil, nil
	}
	const words, scale, more, twoScales, matrix = 0x0001, 0x0008, 0x0020, 0x0040, 0x0080
	for rest := outline[10:]; ; {
		if len(rest) < 4 {
			return nil, errFont
		}
		flags := binary.BigEndian.Uint16(rest)
		places = append(places, rest[2:4])
		length := 6
		if flags&words != 0 {
			length += 2
		}
		switch {
		case flags&scale != 0:
			length += 2
		case flags&twoScales != 0:
			length += 4
		case flags&matrix != 0:
			length += 8
		}
		if flags&more == 0 {
			return places, nil
		}
		if len(rest) < length {
			return nil, errFont
		}
		rest = rest[length:]
	}
}

// cmapTable maps characters to glyphs, in format 4: a segment for each run of
// characters with a run of glyphs.
func cmapTable(glyphOf map[rune]uint16, number map[uint16]uint16) []byte {
	var firsts, lasts, deltas []uint16
	for _, r := range slices.Sorted(maps.Keys(glyphOf)) {
		if r == 0xffff {
			continue
		}
		c := uint16(r)
		delta := number[glyphOf[r]] - c
		if n := len(lasts); n > 0 && lasts[n-1]+1 == c && deltas[n-1] == delta {
			lasts[n-1] = c
			continue
		}
		firsts, lasts, deltas = append(firsts, c), append(lasts, c), append(deltas, delta)
	}
	firsts, lasts, deltas = append(firsts, 0xffff), append(lasts, 0xffff), append(deltas, 1)
	n := uint16(len(firsts))
	t := append16(nil, 0, 1, 3, 1, 0, 12) // version, one table, Windows, Unicode, at byte 12
	t = append16(t, 4, 16+8*n, 0, 2*n)
	t = append16(t, searchFields(n, 2)...)
	t = append16(append16(t, lasts...), 0)
	t = append16(append16(t, firsts...), deltas...)
	return append16(t, make([]uint16, n)...)
}

// searchFields are what readers of n entries of a size begin a binary search with.
func searchFields(n, size uint16) []uint16 {
	exponent := uint16(bits.Len16(n) - 1)
	power := uint16(1) << exponent
	return []uint16{size * power, exponent, size * (n - power)}
}

func append16(dst []byte, values ...uint16) []byte {
	for _, v := range values {
		dst = binary.BigEndian.AppendUint16(dst, v)
	}
	return dst
}

// fontFile puts tables together, with their checksums.
func fontFile(tables map[string][]byte) []byte {
	names := slices.Sorted(maps.Keys(tables))
	n := uint16(len(names))
	file := binary.BigEndian.AppendUint32(nil, 0x00010000)
	file = append16(append16(file, n), searchFields(n, 16)...)
	var body []byte
	start := len(file) + 16*len(names)
	headAt := 0
	for _, name := range names {
		table := tables[name]
		if name == "head" {
			headAt = start + len(body)
		}
		file = append(file, name...)
		for _, v := range []uint32{checksum(table), uint32(start + len(body)), uint32(len(table))} {
			file = binary.BigEndian.AppendUint32(file, v)
		}
		body = append(body, table...)
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
	}
	file = append(file, body...)
	binary.BigEndian.PutUint32(file[headAt+8:], 0xb1b0afba-checksum(file))
	return file
}

// checksum is the sum of the words of a table.
func checksum(table []byte) (sum uint32) {
	for len(table) > 0 {
		var word [4]byte
		table = table[copy(word[:], table):]
		sum += binary.BigEndian.Uint32(word[:])
	}
	return sum
}
