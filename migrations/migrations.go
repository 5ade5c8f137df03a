// Package migrations holds the numbered SQL files that make the database, one
// folder a kind of database, embedded and nothing else. Equal numbers make
// equal schemas: the same tables, views, names and columns. A file that has
// been released is never edited; a change is a new file in both folders.
package migrations

import "embed"

// Files holds sqlite/NNNN_name.sql and postgres/NNNN_name.sql.
//
//go:embed sqlite/*.sql postgres/*.sql
var Files embed.FS
