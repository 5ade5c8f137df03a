// Package docs has the pages of the documentation that programs read: "sweep mcp" serves them to agents.
//
//	for _, page := range docs.Pages() { fmt.Println(page.Name, page.Title) }
package docs

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed sweep-files.md selection.md sql.md trainers.md scripts.md concepts.md guarantees.md reference/views.md
var files embed.FS

// Page is a page of the documentation.
type Page struct {
	// Name is its file's, Title its first heading, Text all of it in Markdown.
	Name, Title, Text string
}

// Pages returns the pages, by name.
func Pages() (pages []Page) {
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		_, title, _ := strings.Cut(string(text), "# ")
		title, _, _ = strings.Cut(title, "\n")
		pages = append(pages, Page{entry.Name(), title, string(text)})
		return err
	})
	if err != nil {
		panic(err) // the program was built without its files
	}
	return pages
}
