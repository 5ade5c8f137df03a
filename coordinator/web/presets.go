package web

import (
	"net/http"
	"slices"

	"sweep/sweep/paper"
)

// shownPreset is an experiment of the papers.
type shownPreset struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Table and Figure say what is made of its results, Selects whether the table has several selections.
	Table   bool `json:"table"`
	Figure  bool `json:"figure"`
	Selects bool `json:"selects"`
	// Sweeps are the IDs of its sweeps, the newest first.
	Sweeps []string `json:"sweeps"`
}

// presets lists the experiments of the papers of which there are sweeps, and a table or figure to show.
func (s *Server) presets(r *http.Request) (any, error) {
	records, err := s.options.Store.Sweeps(r.Context())
	if err != nil {
		return nil, err
	}
	list := []shownPreset{}
	for _, p := range paper.Presets() {
		shown := shownPreset{Name: p.Name, Title: p.Result.Title, Table: p.HasTable(), Figure: p.HasFigure(),
			Selects: p.Result.Kind != ""}
		for i := range records {
			if slices.Contains(p.Names(), records[i].Name) {
				shown.Sweeps = append(shown.Sweeps, records[i].ID)
			}
		}
		if (shown.Table || shown.Figure) && shown.Sweeps != nil {
			list = append(list, shown)
		}
	}
	return map[string]any{"presets": list}, nil
}
