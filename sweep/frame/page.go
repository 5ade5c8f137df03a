package frame

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sweep/sweep"
)

// MaxRows bounds a page, Deepest the offset of a page of a sorted list: the other end is near
// once the order is reversed.
const (
	MaxRows = 1000
	Deepest = 20_000
)

// Query asks for a page of the trials that match a filter.
type Query struct {
	Filter
	// OrderBy is a column, index if empty. Trials without it come last.
	OrderBy    string
	Descending bool
	Offset     int64
	Limit      int
	// Columns are those that the answer has.
	Columns []string
}

// Row is a trial of an answer: its index, state, and the values of the columns.
type Row struct {
	Index int64  `json:"index"`
	State string `json:"state"`
	Cells []any  `json:"cells"`
}

// row returns a trial with the values of columns.
func (f *Frame) row(index int64, columns []*column) (Row, error) {
	state, values, err := f.one(index, columns)
	r := Row{Index: index, State: state.String(), Cells: make([]any, len(values))}
	for i, value := range values {
		r.Cells[i] = columns[i].decode(value)
	}
	return r, err
}

// Page is an answer: how many trials match, and some of them.
type Page struct {
	Total int64 `json:"total"`
	Rows  []Row `json:"rows"`
}

// place is a trial's place in a sorted list.
type place struct {
	class int8
	key   float64
	row   int64
}

func comparePlace(a, b place) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.key, b.key), cmp.Compare(a.row, b.row))
}

// places keeps the first of many places. It is sorted and cut whenever it has twice as many as
// asked for; then the last of them bounds what else may be among the first.
type places struct {
	list []place
	most int
	cut  bool
}

func (p *places) add(x place) {
	if p.most == 0 || p.cut && comparePlace(x, p.list[p.most-1]) > 0 {
		return
	}
	if p.list = append(p.list, x); len(p.list) > 2*p.most {
		p.sort()
	}
}

func (p *places) sort() {
	slices.SortFunc(p.list, comparePlace)
	p.cut = len(p.list) >= p.most
	p.list = p.list[:min(p.most, len(p.list))]
}

// from returns the first places from an offset on, in order.
func (p *places) from(offset int) []place {
	p.sort()
	return p.list[min(offset, len(p.list)):]
}

// Page answers a query.
func (f *Frame) Page(ctx context.Context, q Query) (*Page, error) {
	if q.Limit < 0 || q.Limit > MaxRows || q.Offset < 0 {
		return nil, fmt.Errorf("limit %d and offset %d: expected a limit of 0 to %d trials, and no negative offset",
			q.Limit, q.Offset, MaxRows)
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	wanted, columns, err := f.resolve(q.Filter, named{names: q.Columns},
		named{names: []string{cmp.Or(q.OrderBy, "trial.index")}})
	if err != nil {
		return nil, err
	}
	shown, by := columns[:len(q.Columns)], columns[len(q.Columns)]
	answer := &Page{Rows: []Row{}}
	var rows []int64
	if by.id() == sweep.FieldKind.Of("index") {
		rows, answer.Total, err = f.byIndex(ctx, wanted, q)
	} else {
		if q.Offset > Deepest {
			return nil, fmt.Errorf("a sorted list ends at trial %d: filter it, or reverse the order", Deepest)
		}
		rows, answer.Total, err = f.sorted(ctx, wanted, by, q)
	}
	if err != nil {
		return nil, err
	}
	for _, index := range rows {
		row, err := f.row(index, shown)
		if err != nil {
			return nil, err
		}
		answer.Rows = append(answer.Rows, row)
	}
	return answer, nil
}

// count counts the trials that match a filter.
func (f *Frame) count(ctx context.Context, wanted *filter) (n int64, err error) {
	for b, err := range f.batches(ctx, wanted, nil) {
		if err != nil {
			return 0, err
		}
		n += int64(len(b.matches))
	}
	return n, nil
}

// byIndex finds a page in the order of index, at any depth.
func (f *Frame) byIndex(ctx context.Context, wanted *filter, q Query) (rows []int64, total int64, err error) {
	first, last := q.Offset, q.Offset+int64(q.Limit)
	if q.Descending {
		n, err := f.count(ctx, wanted)
		if err != nil {
			return nil, 0, err
		}
		first, last = n-last, n-first
	}
	for b, err := range f.batches(ctx, wanted, nil) {
		if err != nil {
			return nil, 0, err
		}
		for _, i := range b.matches {
			if total >= first && total < last {
				rows = append(rows, b.base+int64(i))
			}
			total++
		}
	}
	if q.Descending {
		slices.Reverse(rows)
	}
	return rows, total, nil
}

// sorted finds a page in the order of a column.
func (f *Frame) sorted(ctx context.Context, wanted *filter, by *column,
	q Query) (rows []int64, total int64, err error) {
	first := places{most: int(q.Offset) + q.Limit}
	order := by.order()
	for b, err := range f.batches(ctx, wanted, []*column{by}) {
		if err != nil {
			return nil, 0, err
		}
		total += int64(len(b.matches))
		for _, i := range b.matches {
			class, key := order(b.values[0][i])
			if q.Descending && class < 2 {
				class, key = 1-class, -key
			}
			first.add(place{class, key, b.base + int64(i)})
		}
	}
	for _, p := range first.from(int(q.Offset)) {
		rows = append(rows, p.row)
	}
	return rows, total, nil
}

// Matching returns the indices of the trials that match a filter, the first most of them.
func (f *Frame) Matching(ctx context.Context, q Filter, most int) (indices []int64, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	wanted, err := f.compile(q)
	if err != nil {
		return nil, err
	}
	for b, err := range f.batches(ctx, wanted, nil) {
		if err != nil {
			return nil, err
		}
		for _, i := range b.matches {
			if len(indices) == most {
				return indices, nil
			}
			indices = append(indices, b.base+int64(i))
		}
	}
	return indices, nil
}
