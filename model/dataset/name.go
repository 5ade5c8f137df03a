package dataset

import (
	"cmp"
	"slices"
	"strings"
)

// aliases maps the keys of names that earlier forms of the archive and the papers use to those of its 2018 form.
var aliases = map[string]string{
	"50words":                      "fiftywords",
	"lighting2":                    "lightning2",
	"lighting7":                    "lightning7",
	"wordssynonyms":                "wordsynonyms",
	"noninvasivefatalecgthorax1":   "noninvasivefetalecgthorax1",
	"noninvasivefatalecgthorax2":   "noninvasivefetalecgthorax2",
	"sonyaiborobotsurface":         "sonyaiborobotsurface1",
	"sonyaiborobotsurfaceii":       "sonyaiborobotsurface2",
	"starlightcurve":               "starlightcurves",
	"mixedshapes":                  "mixedshapesregulartrain",
	"uwavegesturelibraryallseries": "uwavegesturelibraryall",
}

// nameKey reduces a data set's name to what all its spellings share: letters and digits in lower case, so that
// "Gun Point", "Gun_Point" and "GunPoint" are one, and the archive's renamings undone.
func nameKey(name string) string {
	key := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		case r > 127: // letters of other scripts stay, so that they are not taken for one another
			return r
		}
		return -1
	}, name)
	if a, ok := aliases[key]; ok {
		return a
	}
	return key
}

// nearest returns at most three of the names that are spelt like name, nearest first.
func nearest(name string, known []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	key := nameKey(name)
	var near []candidate
	for _, k := range known {
		other := nameKey(k)
		d := editDistance(key, other)
		if d <= max(1, min(len(key), len(other))/3) {
			near = append(near, candidate{k, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int {
		return cmp.Or(a.distance-b.distance, strings.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range near[:min(3, len(near))] {
		names = append(names, c.name)
	}
	return names
}

// editDistance is the least number of steps that turn a into b, where a step inserts, deletes or replaces one byte or
// exchanges two neighbours (Damerau 1964, in its restricted form).
func editDistance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			cost = min(cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			next[j+1] = cost
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
