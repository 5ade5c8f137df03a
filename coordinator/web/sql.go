package web

import (
	"cmp"
	"net/http"
	"slices"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// sql answers the statement behind a list of trials, as the database of this
// dashboard takes it: for "sweep sql", and for whoever has the database.
func (s *Server) sql(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q := queryOf(r)
	filter := q.filter()
	list := sweep.Listing{Headings: q.list("column"), Descending: q.flag("descending"),
		Limit: max(q.number("limit", 0), 0), Offset: max(q.number("offset", 0), 0)}
	for _, state := range filter.States {
		list.States = append(list.States, state.String())
	}
	by := cmp.Or(q.text("sort"), string(sweep.FieldKind.Of("index")))
	_, err := s.useFor(r, q, func(f *frame.Frame) (err error) {
		list.Columns, list.Where, err = f.Resolve(append(slices.Clone(list.Headings), by), filter.Written)
		return err
	})
	if err != nil {
		return nil, err
	}
	list.Columns, list.OrderBy = list.Columns[:len(list.Headings)], list.Columns[len(list.Headings)]
	text, err := s.options.Store.Statement(r.Context(), record.ID, list)
	return map[string]string{"sql": text}, err
}
