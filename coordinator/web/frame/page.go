package frame

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
)

// MostRows bounds a page, and Deepest how far behind the beginning of a sorted list
// one may begin: the other end is near after turning the order round.
const (
	MostRows = 1000
	Deepest  = 20_000
)

// Query asks for a page of the trials that fit a filter.
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

// Page is an answer: how many trials fit, and some of them.
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

// places keeps the first of many places, the last of them on top.
type places struct {
	list []place
	most int
}

func (p *places) Len() int           { return len(p.list) }
func (p *places) Less(i, j int) bool { return comparePlace(p.list[i], p.list[j]) > 0 }
func (p *places) Swap(i, j int)      { p.list[i], p.list[j] = p.list[j], p.list[i] }
func (p *places) Push(x any)         { p.list = append(p.list, x.(place)) }
func (p *places) Pop() any {
	last := p.list[len(p.list)-1]
	p.list = p.list[:len(p.list)-1]
	return last
}

func (p *places) add(x place) {
	switch {
	case p.most == 0:
	case len(p.list) < p.most:
		heap.Push(p, x)
	case comparePlace(x, p.list[0]) < 0:
		p.list[0] = x
		heap.Fix(p, 0)
	}
}

// Page answers a query.
func (f *Frame) Page(ctx context.Context, q Query) (*Page, error) {
	if q.Limit < 0 || q.Limit > MostRows || q.Offset < 0 {
		return nil, fmt.Errorf("limit %d and offset %d: expected a limit of 0 to %d trials, and no negative offset",
			q.Limit, q.Offset, MostRows)
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	wanted, err := f.compile(q.Filter)
	if err != nil {
		return nil, err
	}
	shown, err := f.find(q.Columns)
	if err != nil {
		return nil, err
	}
	by := f.byName["index"]
	if q.OrderBy != "" {
		if by, err = f.column(q.OrderBy); err != nil {
			return nil, err
		}
	}
	answer := &Page{Rows: []Row{}}
	var rows []int64
	if by.name == "index" {
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
	for _, row := range rows {
		s, values, err := f.one(row, shown)
		if err != nil {
			return nil, err
		}
		r := Row{Index: row, State: s.String(), Cells: make([]any, len(values))}
		for i, value := range values {
			r.Cells[i] = shown[i].decode(value)
		}
		answer.Rows = append(answer.Rows, r)
	}
	return answer, nil
}

// byIndex finds a page in the order of index, at any depth.
func (f *Frame) byIndex(ctx context.Context, wanted *filter, q Query) (rows []int64, total int64, err error) {
	first := q.Offset
	if q.Descending { // counted from the other end, which is known when all are counted
		err = f.walk(ctx, 0, wanted.columns, func(_ int64, list []State, values [][]uint64) bool {
			for i, s := range list {
				if wanted.fits(s, values, i) {
					total++
				}
			}
			return true
		})
		first = max(0, total-q.Offset-int64(q.Limit))
	}
	last := min(first+int64(q.Limit), total-q.Offset)
	if !q.Descending {
		last = first + int64(q.Limit)
	}
	if err != nil {
		return nil, 0, err
	}
	total = 0
	err = f.walk(ctx, 0, wanted.columns, func(base int64, list []State, values [][]uint64) bool {
		for i, s := range list {
			if !wanted.fits(s, values, i) {
				continue
			}
			if total >= first && total < last {
				rows = append(rows, base+int64(i))
			}
			total++
		}
		return true
	})
	if q.Descending {
		slices.Reverse(rows)
	}
	return rows, total, err
}

// sorted finds a page in the order of a column.
func (f *Frame) sorted(ctx context.Context, wanted *filter, by *column,
	q Query) (rows []int64, total int64, err error) {
	first := places{most: int(q.Offset) + q.Limit}
	order := by.order()
	sign := 1.0
	if q.Descending {
		sign = -1
	}
	err = f.walk(ctx, 0, append(slices.Clone(wanted.columns), by),
		func(base int64, list []State, values [][]uint64) bool {
			keys := values[len(values)-1]
			for i, s := range list {
				if !wanted.fits(s, values, i) {
					continue
				}
				total++
				class, key := order(keys[i])
				if q.Descending && class < 2 {
					class = 1 - class
				}
				first.add(place{class, sign * key, base + int64(i)})
			}
			return true
		})
	slices.SortFunc(first.list, comparePlace)
	for _, p := range first.list[min(int(q.Offset), len(first.list)):] {
		rows = append(rows, p.row)
	}
	return rows, total, err
}

// Matching calls yield for the index of each trial that fits a filter, in order.
func (f *Frame) Matching(ctx context.Context, q Filter, yield func(index int64) error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	wanted, err := f.compile(q)
	if err != nil {
		return err
	}
	var failed error
	err = f.walk(ctx, 0, wanted.columns, func(base int64, list []State, values [][]uint64) bool {
		for i, s := range list {
			if wanted.fits(s, values, i) {
				if failed = yield(base + int64(i)); failed != nil {
					return false
				}
			}
		}
		return true
	})
	return cmp.Or(err, failed)
}
