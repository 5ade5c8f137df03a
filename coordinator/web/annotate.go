package web

import (
	"encoding/json"
	"net/http"

	"sweep/sweep"
)

// annotate changes the notes or tags of a sweep or, if the body has an index, of one of its trials. It answers what
// they are then.
func (s *Server) annotate(r *http.Request, record *sweep.SweepRecord) (any, error) {
	var edit sweep.Edit
	body := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<17))
	body.DisallowUnknownFields() // with another name for the index it would be the sweep's
	if err := body.Decode(&edit); err != nil {
		return nil, bad(err)
	}
	token, _ := s.who(r)
	edit.By = token.Name // whatever the body says
	if err := edit.Check(); err != nil {
		return nil, bad(err)
	}
	if err := s.options.Control.Annotate(r.Context(), record.ID, edit); err != nil {
		return nil, err
	}
	if edit.Index == nil {
		changed, err := s.options.Store.Sweep(r.Context(), record.ID)
		if err != nil {
			return nil, err
		}
		return changed.Annotation, nil
	}
	s.frames.edited(record.ID)
	trial, err := s.options.Store.Trial(r.Context(), sweep.TrialID{Sweep: record.ID, Index: *edit.Index})
	if err != nil {
		return nil, err
	}
	return trial.Annotation, nil
}
