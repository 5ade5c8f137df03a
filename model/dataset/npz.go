package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// readNPZ reads an archive of NumPy's arrays: x [N × T] or [N × T × channels], y [N], which may be texts, and lengths
// [N]. Without lengths a series ends before its trailing steps that are all NaN. Without y there are no labels.
func readNPZ(path string, data []byte) (*Series, error) {
	s := &Series{Path: path}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, s.fail(0, 0, ErrForm, "%v: expected a file as numpy.savez writes it", err)
	}
	arrays := map[string]*array{}
	for _, f := range archive.File {
		name := strings.ToLower(strings.TrimSuffix(f.Name, ".npy"))
		if !slices.Contains([]string{"x", "y", "lengths"}, name) {
			continue
		}
		if arrays[name], err = readArray(f); err != nil {
			return nil, s.fail(0, 0, ErrForm, "array %s: %v", name, err)
		}
	}
	x, y, lengths := arrays["x"], arrays["y"], arrays["lengths"]
	switch {
	case x == nil:
		return nil, s.fail(0, 0, ErrForm, "no array x; expected x [series, time] or [series, time, channel], and "+
			"y [series] with the labels")
	case len(x.shape) != 2 && len(x.shape) != 3, x.text():
		return nil, s.fail(0, 0, ErrForm, "x is of %s and shape %v: expected numbers, [series, time] or "+
			"[series, time, channel]", x.dtype, x.shape)
	case y != nil && (len(y.shape) != 1 || y.shape[0] != x.shape[0]):
		return nil, s.fail(0, 0, ErrForm, "y has the shape %v, and x %v: expected a label a series", y.shape, x.shape)
	case lengths != nil && (len(lengths.shape) != 1 || lengths.shape[0] != x.shape[0] || lengths.text()):
		return nil, s.fail(0, 0, ErrForm, "lengths are of %s and shape %v, and x has the shape %v: expected a "+
			"number a series", lengths.dtype, lengths.shape, x.shape)
	}
	s.Width = 1
	if len(x.shape) == 3 {
		s.Width = x.shape[2]
	}
	if s.Width < 1 || x.shape[1] < 1 || x.shape[1] > maxSteps {
		return nil, s.fail(0, 0, ErrForm, "x has the shape %v: expected 1 to %d time steps and at least a channel",
			x.shape, maxSteps)
	}
	for i := range x.shape[0] {
		if err := s.addItem(i, x, y, lengths); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// addItem adds the series of that number.
func (s *Series) addItem(i int, x, y, lengths *array) error {
	steps := x.shape[1]
	values := make([]float32, steps*s.Width)
	last := 0
	for j := range values {
		v := x.number(i*len(values) + j)
		values[j] = float32(v)
		if math.IsNaN(v) {
			values[j] = float32(math.NaN()) // without the bits that NaN may carry
			continue
		}
		last = j/s.Width + 1
		if f := values[j]; f-f != 0 {
			return s.fail(i+1, j+1, ErrNumber, "x[%d, %d] is %v, not finite in 32 bits", i, j/s.Width, v)
		}
	}
	if lengths != nil {
		given := lengths.number(i)
		if !(given >= 1 && given <= float64(steps)) || given != math.Trunc(given) {
			return s.fail(i+1, 0, ErrNumber, "lengths[%d] is %v: expected 1 to %d", i, given, steps)
		}
		last = int(given)
	}
	if last == 0 {
		return s.fail(i+1, 0, ErrEmpty, "x[%d] has no value but NaN", i)
	}
	label := ""
	if y != nil {
		f := y.field(i)
		label = f.label()
	}
	s.Values, s.Labels, s.Rows = append(s.Values, values[:last*s.Width]), append(s.Labels, label), append(s.Rows, i+1)
	return nil
}

// array is an array of NumPy's.
type array struct {
	dtype   string // such as <f4
	kind    byte
	size    int // bytes of an element
	order   binary.ByteOrder
	shape   []int
	columns bool // the first index runs fastest
	data    []byte
}

var (
	arrayType  = regexp.MustCompile(`'descr':\s*'([<>|=]?)([fiubSU])(\d+)'`)
	arrayOrder = regexp.MustCompile(`'fortran_order':\s*(True|False)`)
	arrayShape = regexp.MustCompile(`'shape':\s*\(([\d, ]*)\)`)
)

// readArray reads a file of NumPy's form .npy.
func readArray(f *zip.File) (*array, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxContent+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxContent:
		return nil, fmt.Errorf("more than 4 GiB")
	case len(data) < 12 || string(data[:6]) != "\x93NUMPY":
		return nil, fmt.Errorf("it is not of the form .npy")
	}
	// Version 1 has the header's length in two bytes, later ones in four.
	start, length := 10, int(binary.LittleEndian.Uint16(data[8:]))
	if data[6] > 1 {
		start, length = 12, int(binary.LittleEndian.Uint32(data[8:]))
	}
	if length < 0 || length > len(data)-start {
		return nil, fmt.Errorf("its header ends too early")
	}
	header := string(data[start : start+length])
	a := &array{data: data[start+length:], order: binary.LittleEndian}
	kind, order, shape := arrayType.FindStringSubmatch(header), arrayOrder.FindStringSubmatch(header),
		arrayShape.FindStringSubmatch(header)
	if kind == nil || order == nil || shape == nil {
		return nil, fmt.Errorf("its header %q is of no numbers and no texts: save float, int, bool or str, not "+
			"objects; fill series of unequal length up with NaN", clip([]byte(header)))
	}
	a.dtype, a.kind, a.columns = kind[1]+kind[2]+kind[3], kind[2][0], order[1] == "True"
	if kind[1] == ">" {
		a.order = binary.BigEndian
	}
	if a.size, err = strconv.Atoi(kind[3]); err != nil || a.size < 1 || a.size > 1<<16 {
		return nil, fmt.Errorf("elements of type %s", a.dtype)
	}
	if a.kind == 'U' {
		a.size *= 4
	} else if a.kind != 'S' && !slices.Contains([]string{"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4",
		"u8", "b1"}, kind[2]+kind[3]) {
		return nil, fmt.Errorf("elements of type %s", a.dtype)
	}
	count := 1
	for text := range strings.SplitSeq(shape[1], ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n > 0 && count > maxContent/n {
			return nil, fmt.Errorf("a shape of (%s)", shape[1])
		}
		a.shape, count = append(a.shape, n), count*n
	}
	if len(a.data) != count*a.size {
		return nil, fmt.Errorf("%d bytes for a shape of (%s) of %s", len(a.data), shape[1], a.dtype)
	}
	return a, nil
}

// text says whether the elements are texts.
func (a *array) text() bool { return a.kind == 'U' || a.kind == 'S' }

// element returns the bytes of an element, counted with the last index running fastest.
func (a *array) element(i int) []byte {
	if a.columns {
		at, stride := 0, len(a.data)/a.size
		for d := len(a.shape) - 1; d >= 0; d-- {
			stride /= a.shape[d]
			at += i % a.shape[d] * stride
			i /= a.shape[d]
		}
		i = at
	}
	return a.data[i*a.size : (i+1)*a.size]
}

// number returns an element that is a number.
func (a *array) number(i int) float64 {
	b := a.element(i)
	bits := uint64(b[0])
	switch a.size {
	case 2:
		bits = uint64(a.order.Uint16(b))
	case 4:
		bits = uint64(a.order.Uint32(b))
	case 8:
		bits = a.order.Uint64(b)
	}
	switch {
	case a.kind == 'f' && a.size == 2:
		return half(uint16(bits))
	case a.kind == 'f' && a.size == 4:
		return float64(math.Float32frombits(uint32(bits)))
	case a.kind == 'f':
		return math.Float64frombits(bits)
	case a.kind == 'i':
		unused := 64 - 8*a.size
		return float64(int64(bits<<unused) >> unused)
	}
	return float64(bits)
}

// half is the number of 16 bits.
func half(bits uint16) float64 {
	sign, exponent, fraction := 1-2*float64(bits>>15), int(bits>>10&31), float64(bits&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// field returns an element as a label.
func (a *array) field(i int) field {
	if !a.text() {
		return field{number: a.number(i), binary: true}
	}
	b := a.element(i)
	if a.kind == 'S' {
		return field{text: strings.TrimSpace(string(bytes.TrimRight(b, "\x00")))}
	}
	var runes []rune
	for ; len(b) >= 4; b = b[4:] {
		if r := rune(a.order.Uint32(b)); r != 0 {
			runes = append(runes, r)
		}
	}
	return field{text: strings.TrimSpace(string(runes))}
}
