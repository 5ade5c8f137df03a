package store

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// saveInputs writes what the programs of trials that ended have read. Equal lists of one program are one.
func (r *recording) saveInputs() {
	type list struct {
		trial  *ledger.Trial
		digest string
		*sweep.Inputs
	}
	var all []list
	for _, t := range r.ledger.Trials {
		if t.Outcome != nil && t.Outcome.Inputs != nil {
			all = append(all, list{t, t.Outcome.Inputs.Digest(), t.Outcome.Inputs})
		}
	}
	if len(all) == 0 {
		return
	}
	lists := database.Rows(len(all), "trial_no, list_digest, unrecorded", func(i int, row []any) []any {
		return append(row, &all[i].trial.Key, &all[i].digest, &all[i].Unrecorded)
	})
	r.run(`INSERT INTO input_lists (program, list_digest, unrecorded)
		SELECT DISTINCT t.dataset_digest, v.list_digest, v.unrecorded FROM {v} JOIN trials AS t USING (trial_no)
		WHERE TRUE ON CONFLICT (program, list_digest) DO NOTHING`, lists)
	r.run(`INSERT INTO trial_inputs (trial_no, list_no) SELECT t.trial_no, l.list_no
		FROM {v} JOIN trials AS t USING (trial_no)
		JOIN input_lists AS l ON l.program = t.dataset_digest AND l.list_digest = v.list_digest`, lists)
	type row struct {
		list int64
		sweep.Input
	}
	var rows []row
	r.each(func(answer database.Row) error {
		var number int64
		var digest string
		if err := answer.Scan(&number, &digest); err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(l list) bool { return l.digest == digest })
		for _, input := range all[i].Rows {
			rows = append(rows, row{number, input})
		}
		return nil
	}, `SELECT DISTINCT l.list_no, l.list_digest FROM {v} JOIN trial_inputs AS n USING (trial_no)
		JOIN input_lists AS l ON l.list_no = n.list_no
		WHERE NOT EXISTS (SELECT 1 FROM stored_inputs AS i WHERE i.list_no = l.list_no)`, lists)
	r.insert("stored_inputs", database.Rows(len(rows), "list_no, kind, name, digest", func(i int, to []any) []any {
		return append(to, &rows[i].list, &rows[i].Kind, &rows[i].Name, &rows[i].Digest)
	}))
}

// selectLists counts the trials of lists; a trial that reuses a result has its source's list.
const selectLists = `SELECT l.list_no, l.list_digest, l.unrecorded, count(*) FROM trials AS t
	JOIN trial_inputs AS n ON n.trial_no = coalesce(t.source_no, t.trial_no)
	JOIN input_lists AS l ON l.list_no = n.list_no
	WHERE `

// programLists are the lists of a program's completed trials.
const programLists = `SELECT l.list_no, l.list_digest, l.unrecorded, count(*) FROM input_lists AS l
	JOIN trial_inputs AS n ON n.list_no = l.list_no JOIN trials AS t ON t.trial_no = n.trial_no
	WHERE l.program = $1 AND t.state = 'completed'
	GROUP BY l.list_no, l.list_digest, l.unrecorded ORDER BY l.list_no DESC LIMIT $2`

// listsOf finds the lists of completed trials by their fingerprints, which an index has by their beginnings.
const listsOf = `SELECT DISTINCT n.list_no, t.fingerprint
	FROM {v} CROSS JOIN trials AS t JOIN trial_inputs AS n USING (trial_no)
	WHERE substr(t.fingerprint, 1, 16) = substr(v.fingerprint, 1, 16) AND t.fingerprint = v.fingerprint
		AND t.state = 'completed' AND t.source_no IS NULL`

// Inputs implements sweep.Store.
func (s *Store) Inputs(ctx context.Context, query sweep.InputQuery, yield func(*sweep.InputList) error) error {
	var lists []*sweep.InputList
	read := func(t *transaction, text string, args ...any) {
		byNumber := map[int64]*sweep.InputList{}
		var numbers []int64
		t.each(func(row database.Row) error {
			var number int64
			l := &sweep.InputList{}
			err := row.Scan(&number, &l.ListDigest, &l.Unrecorded, &l.Trials)
			numbers, lists, byNumber[number] = append(numbers, number), append(lists, l), l
			return err
		}, text, append(args, sweep.MaxInputLists)...)
		t.each(func(row database.Row) error {
			var number int64
			var input sweep.Input
			err := row.Scan(&number, &input.Kind, &input.Name, &input.Digest)
			byNumber[number].Rows = append(byNumber[number].Rows, input)
			return err
		}, `SELECT i.list_no, i.kind, i.name, i.digest FROM {v} JOIN stored_inputs AS i USING (list_no)
			ORDER BY i.list_no, i.kind, i.name`, ints("list_no", numbers))
		wanted := query.Fingerprints
		t.each(func(row database.Row) error {
			var number int64
			var fingerprint string
			err := row.Scan(&number, &fingerprint)
			if l := byNumber[number]; l != nil {
				l.Fingerprints = append(l.Fingerprints, sweep.Fingerprint(fingerprint))
			}
			return err
		}, listsOf, database.Rows(len(wanted), "fingerprint", func(i int, row []any) []any {
			return append(row, (*string)(&wanted[i]))
		}))
	}
	const grouped = ` GROUP BY l.list_no, l.list_digest, l.unrecorded ORDER BY l.list_no DESC LIMIT `
	var err error
	switch {
	case query.Sweep == "":
		err = s.view(ctx, "list inputs", func(t *transaction) { read(t, programLists, query.Program) })
	case query.Index != nil:
		err = s.viewSweep(ctx, "list the inputs of a trial of", query.Sweep, func(t *transaction, number int64) {
			read(t, selectLists+`t.sweep_no = $1 AND t.trial_index = $2`+grouped+`$3`, number, *query.Index)
		})
	default:
		err = s.viewSweep(ctx, "list the inputs of", query.Sweep, func(t *transaction, number int64) {
			read(t, selectLists+`t.sweep_no = $1 AND t.state = 'completed'`+grouped+`$2`, number)
		})
	}
	for _, l := range lists {
		if err != nil {
			return err
		}
		err = yield(l)
	}
	return err
}

// unchanged returns the numbers of the lists of the page's programs that the submitter of a grid found unchanged, each
// between commas; "" if the sweep has no program.
func (p *page) unchanged(ordinal int) string {
	if by := p.comparison(p.number); !by.program {
		return ""
	}
	key := gridKey{p.number, ordinal}
	digests, known := p.s.unchanged.Load(key)
	if !known {
		var submission sweep.Submission
		p.submission(p.number, ordinal, &submission)
		set := make(map[string]bool, len(submission.Unchanged))
		for _, digest := range submission.Unchanged {
			set[digest] = true
		}
		if digests = set; p.err == nil {
			p.s.unchanged.Store(key, set)
		}
	}
	var programs []string
	for i := range p.trials {
		if program := p.trials[i].DatasetDigest; !slices.Contains(programs, program) {
			programs = append(programs, program)
		}
	}
	var text strings.Builder
	text.WriteByte(',')
	p.each(func(row database.Row) error {
		var number int64
		var digest string
		err := row.Scan(&number, &digest)
		if digests.(map[string]bool)[digest] {
			text.WriteString(strconv.FormatInt(number, 10))
			text.WriteByte(',')
		}
		return err
	}, `SELECT l.list_no, l.list_digest FROM {v} JOIN input_lists AS l USING (program)`, texts("program", programs))
	return text.String()
}

// gridKey is the number of a sweep and the ordinal of its grid.
type gridKey struct {
	sweep   int64
	ordinal int
}

// removeLists deletes the lists of inputs that no trial has any more.
func (t *transaction) removeLists() {
	const unused = ` AS i WHERE NOT EXISTS (SELECT 1 FROM trial_inputs AS n WHERE n.list_no = i.list_no)`
	t.run(`DELETE FROM stored_inputs WHERE list_no IN (SELECT i.list_no FROM input_lists` + unused + `)`)
	t.run(`DELETE FROM input_lists` + unused)
}
