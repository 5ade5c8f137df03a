package migrate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"sweep/coordinator/store/database"
)

// view is a view for users' queries.
type view struct{ name, text, digest string }

// views returns those of the schema, each after those that it reads.
func (s Schema) views(dialect *database.Dialect) (all []view) {
	terms := fmt.Sprint(dialect.Terms)
	for _, text := range s.Views {
		for name, sql := range created(text) {
			all = append(all, view{name, sql, fmt.Sprintf("%x", sha256.Sum256([]byte(sql+terms)))})
		}
	}
	return all
}

// created yields the names and statements of a text that create views, with the comments right before them. Every
// program that opens a database looks, so it is no regular expression.
func created(text string) iter.Seq2[string, string] {
	return func(yield func(name, sql string) bool) {
		first, at, name := 0, 0, "" // where the comments or the statement begin; the view whose statement goes on
		for line := range strings.Lines(text) {
			trimmed := strings.TrimSuffix(line, "\n")
			if view, is := strings.CutPrefix(trimmed, "CREATE VIEW "); is && name == "" {
				name = strings.TrimSuffix(view, " AS")
			}
			at += len(line)
			switch {
			case name != "" && strings.HasSuffix(trimmed, ";"):
				if !yield(name, strings.TrimSuffix(text[first:at], "\n")) {
					return
				}
				first, name = at, ""
			case name == "" && !strings.HasPrefix(line, "--"):
				first = at
			}
		}
	}
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
	if dialect.Grant == "" {
		return nil
	}
	if err := tx.Script(ctx, dialect.Grant); err != nil {
		return err
	}
	return s.comment(ctx, tx, dialect)
}

// words are what the comments before tables and views say of them, by "NAME.", and of their columns, by "NAME.COLUMN".
// By ".COLUMN" they have what the first view with words about such a column says, for those that say nothing of it.
func (s Schema) words() (map[string]string, error) {
	// A comment before a table or view, and a line of it that begins what it says of columns.
	described := regexp.MustCompile(`(?m)((?:^--.*\n)+)^CREATE (TABLE|VIEW) (\w+)`)
	columnWords := regexp.MustCompile(`^--   (\w+(?:, \w+)*)(?:  +(.*))?$`)
	all, err := Load(s.Files)
	texts := slices.Clone(s.Views)
	for _, file := range all {
		texts = append(texts, file.text)
	}
	words := map[string]string{}
	for _, found := range described.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		own, columns := map[string]string{}, []string{""}
		for line := range strings.Lines(found[1]) {
			line = strings.TrimSpace(line)
			text := strings.TrimPrefix(line, "--")
			if part := columnWords.FindStringSubmatch(line); part != nil {
				columns, text = strings.Split(part[1], ", "), part[2]
			}
			for _, column := range columns {
				own[column] = strings.TrimSpace(own[column] + " " + strings.TrimSpace(text))
			}
		}
		for column, text := range own {
			words[found[3]+"."+column] = text
			if _, known := words["."+column]; !known && column != "" && found[2] == "VIEW" {
				words["."+column] = text
			}
		}
	}
	return words, err
}

// comment has the database say what its tables, views and columns are, where it does not yet.
func (s Schema) comment(ctx context.Context, tx database.Tx, dialect *database.Dialect) error {
	words, err := s.words()
	if err != nil {
		return err
	}
	var script strings.Builder
	err = tx.Query(ctx, func(row database.Row) error {
		var kind, name, column, has string
		err := row.Scan(&kind, &name, &column, &has)
		text := words[name+"."+column]
		if kind == "VIEW" {
			text = cmp.Or(text, words["."+column])
		}
		if column != "" {
			kind, name = "COLUMN", name+"."+column
		}
		if text != "" && text != has {
			fmt.Fprintf(&script, "COMMENT ON %s %s IS '%s';\n", kind, name, strings.ReplaceAll(text, "'", "''"))
		}
		return err
	}, dialect.Described)
	if err == nil {
		err = tx.Script(ctx, script.String())
	}
	return err
}
