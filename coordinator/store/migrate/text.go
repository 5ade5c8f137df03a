package migrate

import (
	"fmt"
	"strings"
	"text/template"

	"sweep/coordinator/store/database"
)

// written returns SQL in the words of a dialect: its template is executed with the dialect's terms.
func written(name, text string, dialect *database.Dialect) (string, error) {
	parsed, err := template.New(name).Option("missingkey=error").Parse(text)
	var sql strings.Builder
	if err == nil {
		err = parsed.Execute(&sql, dialect.Terms)
	}
	if err != nil {
		return "", fmt.Errorf("migrations: %w", err)
	}
	if dialect.Types == nil {
		return sql.String(), nil
	}
	return dialect.Types(sql.String()), nil
}
