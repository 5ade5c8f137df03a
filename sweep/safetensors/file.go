// Package safetensors writes and reads files of tensors in the format of
// https://github.com/huggingface/safetensors: 8 bytes with the length of a header, little-endian;
// the header, JSON padded with blanks to a multiple of 8, with metadata and each tensor's dtype,
// shape and place; then the values, little-endian and row by row.
package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// MediaType is what a file is, as far as there is a name for it.
const MediaType = "application/vnd.safetensors"

// A DType is the type of a tensor's values.
type DType string

// The types that are written, of 4, 2 and 4 bytes.
const (
	F32 DType = "F32"
	F16 DType = "F16"
	I32 DType = "I32"
)

// size is the number of bytes of a value; 0 of types that are not known.
func (d DType) size() int {
	switch d {
	case F32, I32:
		return 4
	case F16:
		return 2
	}
	return 0
}

// A Tensor is a matrix [Rows × Cols] of a file, by its name.
type Tensor struct {
	Name       string
	DType      DType
	Rows, Cols int
	Data       []byte
}

// A File is tensors with texts about them.
type File struct {
	Metadata map[string]string
	Tensors  []Tensor
}

// metadataKey is the header's entry that is no tensor's.
const metadataKey = "__metadata__"

// entry is a tensor's entry in the header.
type entry struct {
	DType   DType    `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// Encode returns the file's bytes, the same for equal files.
func (f *File) Encode() ([]byte, error) {
	header := map[string]any{metadataKey: f.Metadata}
	end := int64(0)
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if len(t.Data) != t.Rows*t.Cols*t.DType.size() {
			return nil, fmt.Errorf("tensor %s: %d bytes for %d × %d values of %s", t.Name, len(t.Data), t.Rows,
				t.Cols, t.DType)
		}
		start := end
		end += int64(len(t.Data))
		header[t.Name] = entry{t.DType, []int{t.Rows, t.Cols}, [2]int64{start, end}}
	}
	text, err := json.Marshal(header) // keys are sorted
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	const alignment = 8
	text = append(text, bytes.Repeat([]byte(" "), (alignment-len(text)%alignment)%alignment)...)
	data := make([]byte, 0, alignment+len(text)+int(end))
	data = binary.LittleEndian.AppendUint64(data, uint64(len(text)))
	data = append(data, text...)
	for i := range f.Tensors {
		data = append(data, f.Tensors[i].Data...)
	}
	return data, nil
}

// errShort says that a file ends too early.
var errShort = errors.New("the file is cut short")

// Decode reads a file of matrices, in any order. Their data are slices of the argument.
func Decode(data []byte) (*File, error) {
	const prefix = 8
	if len(data) < prefix {
		return nil, errShort
	}
	length := binary.LittleEndian.Uint64(data)
	if data = data[prefix:]; length > uint64(len(data)) {
		return nil, errShort
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(data[:length], &header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	data = data[length:]
	f := &File{}
	for name, raw := range header {
		if name == metadataKey {
			if err := json.Unmarshal(raw, &f.Metadata); err != nil {
				return nil, fmt.Errorf("metadata: %w", err)
			}
			continue
		}
		var e entry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		from, to := e.Offsets[0], e.Offsets[1]
		if from < 0 || to < from || to > int64(len(data)) {
			return nil, fmt.Errorf("tensor %q: %w", name, errShort)
		}
		t := Tensor{Name: name, DType: e.DType, Data: data[from:to]}
		if len(e.Shape) != 2 || !t.shape(e.Shape[0], e.Shape[1]) {
			return nil, fmt.Errorf("tensor %q: %d bytes are no matrix %v of %.10q", name, to-from, e.Shape, e.DType)
		}
		f.Tensors = append(f.Tensors, t)
	}
	return f, nil
}

// shape sets the shape if the data have it.
func (t *Tensor) shape(rows, cols int) bool {
	size := t.DType.size()
	if size == 0 || rows < 0 || cols < 0 || len(t.Data)%size != 0 {
		return false
	}
	t.Rows, t.Cols = rows, cols
	if values := len(t.Data) / size; values > 0 {
		return cols > 0 && values%cols == 0 && values/cols == rows // a product might not fit
	}
	return rows == 0 || cols == 0
}

// Tensor returns the tensor of a name and type.
func (f *File) Tensor(name string, of DType) (*Tensor, error) {
	for i := range f.Tensors {
		if t := &f.Tensors[i]; t.Name == name && t.DType == of {
			return t, nil
		}
	}
	return nil, fmt.Errorf("there is no tensor %s of %s", name, of)
}
