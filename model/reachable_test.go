//go:build !race

package model

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"
)

// reachable adds up the memory that values refer to, whatever is referred to several
// times counting once. Unlike the heap's size it depends on nothing else in the process.
// What functions and channels refer to is left out.
type reachable struct {
	seen  map[visit]bool
	spans []span
}

// visit is a value that was looked at.
type visit struct {
	at   uintptr
	of   reflect.Type
	size int
}

// span is memory from up to, not including, to.
type span struct{ from, to uintptr }

// add looks at a value.
func (r *reachable) add(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && r.span(v.Pointer(), v.Type(), int(v.Type().Elem().Size())) {
			r.add(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			r.add(v.Elem())
		}
	case reflect.Slice:
		if v.Cap() > 0 && r.span(v.Pointer(), v.Type(), v.Cap()*int(v.Type().Elem().Size())) &&
			refers(v.Type().Elem()) {
			for i := range v.Len() {
				r.add(v.Index(i))
			}
		}
	case reflect.String:
		if s := v.String(); s != "" {
			r.span(uintptr(unsafe.Pointer(unsafe.StringData(s))), v.Type(), len(s))
		}
	case reflect.Array:
		for i := 0; i < v.Len() && refers(v.Type().Elem()); i++ {
			r.add(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			r.add(v.Field(i))
		}
	case reflect.Map:
		if !v.IsNil() && r.span(v.Pointer(), v.Type(), v.Len()*int(v.Type().Key().Size()+v.Type().Elem().Size())) {
			for key, value := range v.Seq2() {
				r.add(key)
				r.add(value)
			}
		}
	}
}

// refers reports whether values of a type may refer to memory.
func refers(t reflect.Type) bool { return t.Kind() == reflect.Bool || t.Kind() > reflect.Complex128 }

// span adds memory and reports whether that is new.
func (r *reachable) span(at uintptr, of reflect.Type, size int) bool {
	v := visit{at, of, size}
	if r.seen[v] {
		return false
	}
	if r.seen == nil {
		r.seen = map[visit]bool{}
	}
	r.seen[v] = true
	r.spans = append(r.spans, span{at, at + uintptr(size)})
	return true
}

// bytes is the memory so far.
func (r *reachable) bytes() (sum int64) {
	slices.SortFunc(r.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	end := uintptr(0)
	for _, s := range r.spans {
		if from := max(s.from, end); s.to > from {
			sum += int64(s.to - from)
			end = s.to
		}
	}
	return sum
}
