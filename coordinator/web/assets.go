package web

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"strings"
	"sync"
)

//go:embed assets
var assets embed.FS

// index is the page that all views are drawn into.
//
//go:embed assets/index.html
var index string

// importMapHash is of the one script that stands in the page itself: the names by
// which others' modules find each other. Browsers take it from nowhere else.
var importMapHash = sync.OnceValue(func() string {
	_, rest, _ := strings.Cut(index, `<script type="importmap">`)
	text, _, _ := strings.Cut(rest, "</script>")
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
})

// pages serves the assets. They are the program's own, so a browser asks each time
// whether it has the program's.
func pages() http.Handler {
	root, err := fs.Sub(assets, "assets")
	if err != nil {
		panic("the assets are embedded: " + err.Error())
	}
	files := http.FileServerFS(root)
	tags := map[string]string{}
	_ = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error { // embedded files can be read
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		sum := sha256.Sum256(data)
		tags["/"+path] = `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		return err
	})
	tags["/"] = tags["/index.html"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tag, known := tags[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", "no-cache")
		files.ServeHTTP(w, r)
	})
}
