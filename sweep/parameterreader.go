package sweep

import "fmt"

// A ParameterReader reads typed values from resolved parameters and keeps the first error, a
// [*ParameterError]. A value that is absent or of another type reads as any value.
type ParameterReader struct {
	Parameters Parameters
	err        error
}

// Err returns the first error.
func (r *ParameterReader) Err() error { return r.err }

// Refuse returns the error for the value of a parameter. If it is the first, Err returns it too.
func (r *ParameterReader) Refuse(name, format string, args ...any) error {
	err := &ParameterError{Parameter: name, Value: r.Parameters[name], Problem: fmt.Sprintf(format, args...)}
	if r.err == nil {
		r.err = err
	}
	return err
}

// Text reads a string.
func (r *ParameterReader) Text(name string) string {
	v, ok := r.Parameters[name].(string)
	if !ok {
		_ = r.Refuse(name, "must be a string")
	}
	return v
}

// Boolean reads a boolean.
func (r *ParameterReader) Boolean(name string) bool {
	v, ok := r.Parameters[name].(bool)
	if !ok {
		_ = r.Refuse(name, "must be true or false")
	}
	return v
}

// Integer reads an integer, in whatever form the number has.
func (r *ParameterReader) Integer(name string) int {
	switch v := r.Parameters[name].(type) {
	case int64:
		return int(v)
	case float64:
		if v == float64(int64(v)) {
			return int(v)
		}
	}
	_ = r.Refuse(name, "must be an integer")
	return 0
}

// Number reads a number.
func (r *ParameterReader) Number(name string) float64 {
	v, ok := Number(r.Parameters[name])
	if !ok {
		_ = r.Refuse(name, "must be a number")
	}
	return v
}

// Check reads each parameter by the type of its schema and returns the first error.
func (r *ParameterReader) Check(schemas []*ParameterSchema) error {
	for _, s := range schemas {
		switch s.Type {
		case StringType:
			r.Text(s.Name)
		case BooleanType:
			r.Boolean(s.Name)
		case IntegerType:
			r.Integer(s.Name)
		case NumberType:
			r.Number(s.Name)
		}
	}
	return r.err
}
