// Package migrations holds the numbered SQL files that make the database, one
// folder a kind of database, embedded and nothing else. Equal numbers make
// equal schemas: the same tables, views, names and columns. A file that is in
// use is never edited; a change is a new file in both folders, with a test that
// brings a database with rows up to date.
package migrations

import "embed"

// Files holds sqlite/NNNN_name.sql and postgres/NNNN_name.sql.
//
//go:embed sqlite/*.sql postgres/*.sql
var Files embed.FS
