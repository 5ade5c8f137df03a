package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// operation is an operation of the control service, with requests Q that are answered by values A.
// Server, client, roles and documentation are derived from it:
//
//	var pause = define(operation[sweepRef, none]{Operation: Operation{Name: "pause", …}, …})
//
// A request is a JSON object of the fields of Q that are not empty, on the subject sweep.control.NAME.
// Fields may be added; the meaning of a field never changes without another ControlVersion.
type operation[Q, A any] struct {
	Operation
	// perform has a controller carry out a request; nil of operations that read.
	perform func(ctx context.Context, c Controller, q *Q) (A, error)
	// answer carries out a request and passes the values of its answer to yield.
	answer func(ctx context.Context, s *Control, q *Q, yield func(A) error) error
}

// endpoint is an operation of any types.
type endpoint interface {
	describe() Operation
	carryOut(ctx context.Context, c Controller, request []byte) (trials int64, err error)
	serve(ctx context.Context, s *Control, decode func(request any) error, yield func(any) error) error
}

// Operation describes an operation of the control service.
type Operation struct {
	Name, Purpose string
	// Reads means that it changes nothing: observers may request it, too.
	Reads bool
	// Most bounds the requests that are answered at the same time, if answers are long, so
	// that slow clients cannot block other operations. 0 means no bound of its own.
	Most int
	// Tool is nil if agents are not offered it. Request is the type of its requests.
	Tool    *Tool
	Request reflect.Type
}

// Tool says how agents are offered an operation that changes a sweep, under its name. Arguments are the fields of its
// request, the optional ones those that JSON omits if they are empty.
type Tool struct {
	// Detail follows the purpose, Done says what was done to the trials or the sweep.
	Detail, Done string
	// Trains means that there may be trials to run afterwards, Destroys that some end.
	Trains, Destroys bool
	// Some is the operation that does the same to some trials, "" if there is none.
	Some string
}

// operations are all operations, by the last part of their subjects.
var operations = map[string]endpoint{}

// define adds an operation to operations.
func define[Q, A any](o operation[Q, A]) operation[Q, A] {
	operations[o.Name] = o
	return o
}

// Operations lists the operations of the control service, by name.
func Operations() (list []Operation) {
	for _, e := range operations {
		list = append(list, e.describe())
	}
	slices.SortFunc(list, func(a, b Operation) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Purpose is what an operation is for, as one line.
func Purpose(name string) string { return operations[name].describe().Purpose }

// Perform has a controller carry out an operation that agents are offered. The request is a JSON object. It returns how
// many trials were changed, 0 if the operation does not count them.
func Perform(ctx context.Context, c Controller, name string, request []byte) (trials int64, err error) {
	return operations[name].carryOut(ctx, c, request)
}

func (o operation[Q, A]) describe() Operation {
	o.Request = reflect.TypeFor[Q]()
	return o.Operation
}

// offered offers an operation to agents.
func (o operation[Q, A]) offered(t Tool) operation[Q, A] {
	o.Tool = &t
	return define(o)
}

func (o operation[Q, A]) carryOut(ctx context.Context, c Controller, request []byte) (trials int64, err error) {
	var q Q
	if err := json.Unmarshal(request, &q); err != nil {
		return 0, fmt.Errorf("%s: %w", o.Name, err)
	}
	a, err := o.perform(ctx, c, &q)
	count, _ := any(a).(trialCount)
	return count.Trials, err
}

func (o operation[Q, A]) serve(ctx context.Context, s *Control, decode func(any) error, yield func(any) error) error {
	var q Q
	if err := decode(&q); err != nil {
		return fmt.Errorf("the request cannot be read: %w", err)
	}
	return o.answer(ctx, s, &q, func(a A) error { return yield(a) })
}

// each sends a request and calls next for each value of the answer.
func (o operation[Q, A]) each(ctx context.Context, c *Client, q Q, next func(A) error) error {
	return c.request(ctx, o.Name, q, func(values *json.Decoder) error {
		var a A
		if err := values.Decode(&a); err != nil {
			return err
		}
		return next(a)
	})
}

// ask sends a request whose answer is one value.
func (o operation[Q, A]) ask(ctx context.Context, c *Client, q Q) (a A, err error) {
	err = o.each(ctx, c, q, func(value A) error {
		a = value
		return nil
	})
	return a, err
}

// tell sends a request whose answer says only that it succeeded.
func (o operation[Q, A]) tell(ctx context.Context, c *Client, q Q) error {
	_, err := o.ask(ctx, c, q)
	return err
}

// one adapts a function that answers by one value.
func one[Q, A any](do func(ctx context.Context, s *Control, q *Q) (A, error)) func(context.Context, *Control,
	*Q, func(A) error) error {
	return func(ctx context.Context, s *Control, q *Q, yield func(A) error) error {
		a, err := do(ctx, s, q)
		if err != nil {
			return err
		}
		return yield(a)
	}
}
