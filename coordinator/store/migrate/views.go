package migrate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"

	"sweep/coordinator/store/database"
)

// view is a view for users' queries.
type view struct{ name, text, digest string }

var createView = regexp.MustCompile(`(?ms)^CREATE VIEW (\w+) AS$.*?;$`)

// views returns those of the schema, each after those that it reads.
func (s Schema) views(dialect *database.Dialect) (all []view) {
	terms := fmt.Sprint(dialect.Terms)
	for _, text := range s.Views {
		for _, found := range createView.FindAllStringSubmatch(text, -1) {
			all = append(all, view{found[1], found[0], fmt.Sprintf("%x", sha256.Sum256([]byte(found[0]+terms)))})
		}
	}
	return all
}

// made returns the views that a leader made, in their order.
func made(ctx context.Context, tx database.Tx) (all []view, err error) {
	err = tx.Query(ctx, func(row database.Row) error {
		var v view
		err := row.Scan(&v.name, &v.digest)
		all = append(all, v)
		return err
	}, `SELECT name, digest FROM schema_views ORDER BY ordinal`)
	return all, err
}

// differ reports whether the database lacks a view of the schema. One that the schema does not know stays: another
// program of the same version may have it.
func (s Schema) differ(ctx context.Context, tx database.Tx, dialect *database.Dialect) (bool, error) {
	all := s.views(dialect)
	are, err := made(ctx, tx)
	return slices.ContainsFunc(all, func(v view) bool {
		return !slices.ContainsFunc(are, func(is view) bool { return is.name == v.name && is.digest == v.digest })
	}), err
}

// replaceViews makes all views anew.
func (s Schema) replaceViews(ctx context.Context, tx database.Tx, dialect *database.Dialect) error {
	all := s.views(dialect)
	are, err := made(ctx, tx)
	if err != nil {
		return err
	}
	for _, v := range slices.Backward(are) {
		if err := tx.Script(ctx, `DROP VIEW `+v.name); err != nil {
			return fmt.Errorf("the view %s is to be made anew: %w", v.name, err)
		}
	}
	if _, err := tx.Exec(ctx, `DELETE FROM schema_views`); err != nil {
		return err
	}
	for i, v := range all {
		sql, err := written(v.name, v.text, dialect)
		if err == nil {
			err = tx.Script(ctx, sql)
		}
		if err != nil {
			return fmt.Errorf("view %s: %w", v.name, err)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO schema_views (name, ordinal, digest) VALUES ($1, $2, $3)`,
			v.name, i, v.digest); err != nil {
			return err
		}
	}
	if dialect.Grant != "" {
		return tx.Script(ctx, dialect.Grant)
	}
	return nil
}
