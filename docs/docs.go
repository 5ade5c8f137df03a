// Package docs has the pages of the documentation that programs read: "sweep mcp" serves them to agents.
//
//	for _, page := range docs.Pages() { fmt.Println(page.Name, page.Title) }
package docs

import (
	"embed"
	"strings"
)

//go:embed sweep-files.md selection.md sql.md trainers.md scripts.md concepts.md guarantees.md
var files embed.FS

// Page is a page of the documentation.
type Page struct {
	// Name is its file's, Title its first heading, Text all of it in Markdown.
	Name, Title, Text string
}

// Pages returns the pages, by name.
func Pages() (pages []Page) {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the program was built without its files
	}
	for _, entry := range entries {
		text, err := files.ReadFile(entry.Name())
		if err != nil {
			panic(err)
		}
		title, _, _ := strings.Cut(string(text), "\n")
		pages = append(pages, Page{entry.Name(), strings.TrimLeft(title, "# "), string(text)})
	}
	return pages
}
