package sqlite

import (
	"time"

	"sweep/coordinator/store/database"
)

// SetQueryTimeout replaces the time until a query's next row.
func SetQueryTimeout(d database.Database, t time.Duration) { d.(*Database).queryTimeout = t }
