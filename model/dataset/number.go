package dataset

import (
	"bytes"
	"math"
	"strconv"
)

// powers of ten that float64 holds exactly
var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// scanFloat32 reads the decimal number that b starts with and returns the float32 nearest to it, as strconv.ParseFloat
// rounds it, and how many bytes it takes. n is 0 where b starts with no number, or with one that is out of reach of the
// short way, which the caller then takes to strconv.
func scanFloat32(b []byte) (v float32, n int) {
	i := 0
	negative := false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		negative = b[i] == '-'
		i++
	}
	var mantissa uint64
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		i++
	}
	digits := i - start
	exponent := 0
	if i < len(b) && b[i] == '.' {
		i++
		start = i
		for i < len(b) && b[i]-'0' <= 9 {
			mantissa = mantissa*10 + uint64(b[i]-'0')
			i++
		}
		exponent = start - i
		digits -= exponent
	}
	if digits == 0 || digits > 19 {
		return 0, 0
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		sign := 1
		if i < len(b) && (b[i] == '-' || b[i] == '+') {
			if b[i] == '-' {
				sign = -1
			}
			i++
		}
		start = i
		e := 0
		for i < len(b) && b[i]-'0' <= 9 && i-start < 4 {
			e = e*10 + int(b[i]-'0')
			i++
		}
		if i == start {
			return 0, 0
		}
		exponent += sign * e
	}

	// A mantissa below 2⁵³ and the powers of ten up to 22 are exact, so that f is the float64 nearest to the number.
	if mantissa >= 1<<53 || exponent < -22 || exponent > 22 {
		return 0, 0
	}
	f := float64(mantissa)
	if exponent < 0 {
		f /= powersOfTen[-exponent]
	} else {
		f *= powersOfTen[exponent]
	}
	// Rounding f once more gives the nearest float32 unless f lies half way between two of them, where the number
	// itself may lie on either side. Below 1e-30 float32 thins out, above its largest value it overflows.
	if math.Float64bits(f)&(1<<29-1) == 1<<28 || f > math.MaxFloat32 || f < 1e-30 && mantissa != 0 {
		return 0, 0
	}
	v = float32(f)
	if negative {
		v = -v
	}
	return v, i
}

// scanField reads the number that begins at line[i], and returns where its field ends. The error is strconv's, if the
// number is not finite in 32 bits strconv.ErrRange.
func scanField(line []byte, i int, separator byte) (v float32, end int, err error) {
	v, n := scanFloat32(line[i:])
	if end = i + n; n > 0 && (end == len(line) || line[end] == separator) {
		return v, end, nil
	}
	end = fieldEnd(line, i, separator)
	if v, err = parseFloat32(bytes.TrimSpace(line[i:end])); err == nil && v-v != 0 {
		err = strconv.ErrRange
	}
	return v, end, err
}

// parseFloat32 reads a whole field. Unlike strconv it knows no hexadecimal numbers and no underscores.
func parseFloat32(field []byte) (float32, error) {
	if v, n := scanFloat32(field); n > 0 && n == len(field) {
		return v, nil
	}
	for _, c := range field {
		if c == '_' || c|0x20 == 'x' {
			return 0, strconv.ErrSyntax
		}
	}
	v, err := strconv.ParseFloat(string(field), 32)
	return float32(v), err
}
