package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// operation is an operation of the control service, with requests Q that are answered by values A.
// Server, client, roles and documentation are derived from it:
//
//	var pause = define(operation[sweepRef, none]{name: "pause", …})
//
// A request is a JSON object of the fields of Q that are not empty, on the subject sweep.control.NAME.
// Fields may be added; the meaning of a field never changes without another ControlVersion.
type operation[Q, A any] struct {
	name    string
	purpose string
	// reads means that it changes nothing: observers may request it, too.
	reads bool
	// most bounds the requests that are answered at the same time, if answers are long, so
	// that slow clients cannot block other operations. 0 means no bound of its own.
	most int
	// answer carries out a request and passes the values of its answer to yield.
	answer func(ctx context.Context, s *Control, q *Q, yield func(A) error) error
}

// endpoint is an operation of any types.
type endpoint interface {
	describe() Operation
	serve(ctx context.Context, s *Control, decode func(request any) error, yield func(any) error) error
}

// Operation describes an operation of the control service.
type Operation struct {
	Name, Purpose string
	// Reads means that it changes nothing. Most is how many of its requests are answered at
	// the same time, 0 if it has no bound of its own.
	Reads bool
	Most  int
}

// operations are all operations, by the last part of their subjects.
var operations = map[string]endpoint{}

// define adds an operation to operations.
func define[Q, A any](o operation[Q, A]) operation[Q, A] {
	operations[o.name] = o
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

func (o operation[Q, A]) describe() Operation { return Operation{o.name, o.purpose, o.reads, o.most} }

func (o operation[Q, A]) serve(ctx context.Context, s *Control, decode func(any) error, yield func(any) error) error {
	var q Q
	if err := decode(&q); err != nil {
		return fmt.Errorf("the request cannot be read: %w", err)
	}
	return o.answer(ctx, s, &q, func(a A) error { return yield(a) })
}

// each sends a request and calls next for each value of the answer.
func (o operation[Q, A]) each(ctx context.Context, c *Client, q Q, next func(A) error) error {
	return c.request(ctx, o.name, q, func(values *json.Decoder) error {
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
