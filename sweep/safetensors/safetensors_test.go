package safetensors

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Every half is itself again, and a value between two goes to the nearer one, halfway
// to the even one.
func TestHalf(t *testing.T) {
	for h := range uint16(1 << 15) {
		for _, h := range []uint16{h, h | 1<<15} {
			v := single(h)
			if got := half(v); got != h && v == v {
				t.Fatalf("%#04x is %v, which is %#04x", h, v, got)
			}
			if math.IsNaN(float64(v)) != (h&0x7fff > halfInfinity) {
				t.Fatalf("%#04x is %v", h, v)
			}
		}
		if h >= halfInfinity-1 {
			continue
		}
		low, high := single(h), single(h+1)
		if high <= low {
			t.Fatalf("%#04x is %v, the next %v", h, low, high)
		}
		middle := (low + high) / 2 // exact in single precision
		for value, want := range map[float32]uint16{
			middle: h + h%2, math.Nextafter32(middle, low): h, math.Nextafter32(middle, high): h + 1,
		} {
			if got := half(value); got != want {
				t.Fatalf("%v between %v and %v is %v", value, low, high, single(got))
			}
		}
	}
	for value, want := range map[float32]uint16{
		1: 0x3c00, 0.5: 0x3800, 65504: 0x7bff, 65519.99: 0x7bff, 65520: 0x7c00, 1e38: 0x7c00, -1e38: 0xfc00, 1e-8: 0,
		1.0 / (1 << 24): 1,
	} {
		if got := half(value); got != want {
			t.Errorf("%v is %#04x, want %#04x", value, got, want)
		}
	}
}

func TestFile(t *testing.T) {
	f := &File{
		Metadata: map[string]string{"trainer": "builtin"},
		Tensors: []Tensor{
			{"labels", I32, 3, 1, AppendIntegers(nil, []int{0, 7, -2})},
			{"values", F16, 3, 2, AppendHalf(nil, []float32{0, 1, .25, -2, 3, 4})},
			{"none", F32, 0, 5, nil},
		},
	}
	data, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if n := binary.LittleEndian.Uint64(data); n%8 != 0 ||
		!bytes.HasPrefix(data[8:],
			[]byte(`{"__metadata__":{"trainer":"builtin"},"labels":{"dtype":"I32","shape":[3,1],"data_offsets":[0,12]},`)) {
		t.Errorf("a header of %d bytes: %s", n, data[8:8+n])
	}
	got, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Metadata, f.Metadata) || len(got.Tensors) != 3 {
		t.Errorf("%+v", got)
	}
	labels, err := got.Tensor("labels", I32)
	if err != nil || labels.Rows != 3 || labels.Cols != 1 || !slices.Equal(labels.Integers(), []int{0, 7, -2}) {
		t.Errorf("%+v, %v", labels, err)
	}
	values, err := got.Tensor("values", F16)
	if err != nil || values.Rows != 3 || values.Cols != 2 ||
		!slices.Equal(values.Halves(), []float32{0, 1, .25, -2, 3, 4}) {
		t.Errorf("%+v, %v", values, err)
	}
	if _, err := got.Tensor("values", F32); err == nil {
		t.Error("a tensor of another type is found")
	}
	if _, err := (&File{Tensors: []Tensor{{"short", F32, 2, 2, make([]byte, 15)}}}).Encode(); err == nil {
		t.Error("a tensor without all of its values is written")
	}
}

// file makes a file of a header and data.
func file(header, data string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+data...)
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":    {nil, "cut short"},
		"header":   {binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "cut short"},
		"no JSON":  {file("{", ""), "header"},
		"beyond":   {file(`{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, "1234"), "cut short"},
		"negative": {file(`{"a":{"dtype":"F32","shape":[1,1],"data_offsets":[-4,0]}}`, "1234"), "cut short"},
		"shape":    {file(`{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,4]}}`, "1234"), "no matrix"},
		"overflow": {file(`{"a":{"dtype":"F32","shape":[4294967297,4294967296],"data_offsets":[0,4]}}`, "1234"),
			"no matrix"},
		"vector":   {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "1234"), "no matrix"},
		"type":     {file(`{"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}`, "1234"), "no matrix"},
		"metadata": {file(`{"__metadata__":{"a":1}}`, ""), "metadata"},
	} {
		if _, err := Decode(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// Whatever comes is read or refused, and what is read can be written and read again.
func FuzzDecode(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},"__metadata__":{"b":"c"}}`, "1234"))
	f.Add(file(`{"a":{"dtype":"I32","shape":[0,2],"data_offsets":[0,0]}}`, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := Decode(data)
		if err != nil {
			return
		}
		for i := range read.Tensors {
			switch tensor := &read.Tensors[i]; tensor.DType {
			case F16:
				tensor.Halves()
			case I32:
				tensor.Integers()
			}
		}
		if _, err := read.Encode(); err != nil {
			t.Error(err)
		}
	})
}
