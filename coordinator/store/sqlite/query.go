package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	engine "modernc.org/sqlite"
)

// Query implements sweep.Store. It runs on a connection that cannot write: the
// authorizer refuses everything but reading, and query_only holds behind it.
// Times are texts as stored, booleans bool.
func (s *Store) Query(ctx context.Context, text string, yield func(columns []string, row []any) error) error {
	what := "run the query"
	if err := single(text); err != nil {
		return s.explain(what, err)
	}
	rows, err := s.questions.QueryContext(ctx, text)
	if err != nil {
		return s.explain(what, refusal(err))
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return s.explain(what, errors.Join(err, rows.Close()))
	}
	columns := make([]string, len(types))
	boolean := make([]bool, len(types))
	for i, t := range types {
		columns[i], boolean[i] = t.Name(), t.DatabaseTypeName() == "BOOLEAN"
	}
	targets := make([]any, len(columns))
	err = each(rows, nil, func() error {
		row := make([]any, len(columns))
		for i := range row {
			targets[i] = &row[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for i, value := range row {
			if n, ok := value.(int64); ok && boolean[i] {
				row[i] = n != 0
			}
		}
		if err := yield(columns, row); err != nil {
			return passed{err}
		}
		return nil
	})
	return s.explain(what, refusal(err))
}

// refusal makes clear that it was not allowed, where SQLite says "not authorized".
func refusal(err error) error {
	var failure *engine.Error
	if errors.As(err, &failure) && (strings.Contains(err.Error(), "not authorized") || strings.Contains(err.Error(), "readonly") || strings.Contains(err.Error(), "prohibited")) {
		return fmt.Errorf("only statements that read are allowed: %w", err)
	}
	return err
}

// readPragmas tell of the schema and change nothing.
var readPragmas = map[string]bool{
	"table_info": true, "table_xinfo": true, "table_list": true, "index_list": true, "index_info": true, "index_xinfo": true,
	"foreign_key_list": true, "compile_options": true, "function_list": true,
}

// authorize lets SELECTs through and nothing else.
func authorize(action engine.AuthorizerActionCode, arg1, _, _, _ string) engine.AuthorizerReturnCode {
	switch action {
	case engine.AuthSelect, engine.AuthRead, engine.AuthRecursive:
		return engine.AuthorizerOK
	case engine.AuthFunction:
		return engine.AuthorizerOK
	case engine.AuthPragma:
		if readPragmas[strings.ToLower(arg1)] {
			return engine.AuthorizerOK
		}
	}
	return engine.AuthorizerDeny
}
