// Package migrations holds the numbered SQL files that make the database and the views of it, embedded and nothing
// else. Both kinds of database have them from one text: see package migrate. A numbered file that is in use is never
// edited; a change is a new file, with a test that brings a database with rows up to date.
package migrations

import "embed"

// Files holds NNNN_name.sql.
//
//go:embed 0*.sql
var Files embed.FS

// Views has the statements that create the views.
//
//go:embed views.sql
var Views string
