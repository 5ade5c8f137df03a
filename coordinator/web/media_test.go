package web_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"sweep/sweep"
	"sweep/sweep/artifact/artifacttest"
)

// media are what a program logged, by the names of their artifacts.
var media = map[string]string{
	"media.index.json": `{"media": [
		{"name": "examples", "place": 0, "kind": "image", "file": "examples.png", "step": 7, "caption": "one pixel"},
		{"name": "predictions", "kind": "table", "file": "predictions.table.json"},
		{"name": "weights", "kind": "histogram", "file": "weights.histogram.json"},
		{"name": "confusion", "kind": "confusion_matrix", "file": "confusion.confusion.json"},
		{"name": "broken", "kind": "table", "file": "broken.table.json"},
		{"name": "page", "kind": "html", "file": "page.html"},
		{"name": "note", "kind": "text", "file": "note.txt"}]}`,
	"media.predictions.table.json":   `{"columns": ["word", "score"], "data": [["<b>cat</b>", 0.5], ["dog", null]], "left_out": 3}`,
	"media.weights.histogram.json":   `{"edges": [0, 0.5, 2], "counts": [3, 1]}`,
	"media.confusion.confusion.json": `{"classes": ["cat", "dog"], "counts": [[5, 1], [0, 6]]}`,
	"media.broken.table.json":        `{"columns": 3}`,
	"media.page.html":                "<script>alert(1)</script>",
	"media.note.txt":                 "hello <i>there</i>",
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestBrowserMedia holds that a trial's page shows what its program logged, as text and pictures and
// never as markup, and that only images are ever sent to be shown.
func TestBrowserMedia(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	image, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string][]byte{"media.examples.png": image}
	for name, text := range media {
		contents[name] = []byte(text)
	}
	begin(t, f.store, sweepID, "first", 30, 30, func(index int64, result *sweep.Result) {
		if index != 5 {
			return
		}
		for name, content := range contents {
			record := artifacttest.Record(sweep.TrialID{Sweep: sweepID, Index: 5}, content)
			record.Name = name
			result.Artifacts = append(result.Artifacts, record.Artifact)
		}
	})
	err = f.store.Artifacts(t.Context(), sweep.ArtifactQuery{Sweep: sweepID, Indices: []int64{5}},
		func(a *sweep.ArtifactRecord) error {
			content := bytes.NewReader(contents[a.Name])
			return f.artifacts.Write(t.Context(), a.Location, io.NewSectionReader(content, 0, content.Size()))
		})
	if err != nil {
		t.Fatal(err)
	}
	b := openBrowser(t, f.server.URL)
	b.visit("#/trial/"+sweepID+"/5", "hello <i>there</i>")
	for _, text := range []string{"examples 1", "one pixel", "step 7", "<b>cat</b>", "3 further rows not shown",
		"The file does not have the form of its kind", "Download page.html"} {
		b.wait(text)
	}
	b.until(`document.querySelector(".media img").naturalWidth === 1`)
	if got := evaluate[string](b,
		`[...document.querySelectorAll('[aria-label^="confusion"] tbody tr')].map((r) => r.innerText.replace(/\s+/g, " ").trim()).join("|")`); got != "cat 5 1|dog 0 6" {
		t.Errorf("the matrix is %q", got)
	}
	b.until(`document.querySelector(".media svg rect")`)
	if got := evaluate[[]float64](b,
		`[...document.querySelectorAll(".media svg rect")].map((r) => Math.round(Number(r.getAttribute("height"))))`); len(got) != 2 ||
		got[0] != 120 || got[1] != 40 {
		t.Errorf("the bars are %v high", got)
	}
	for _, dark := range []bool{false, true} {
		b.dark(dark)
		b.axe("media")
		b.picture("media" + map[bool]string{true: "-dark", false: ""}[dark])
	}
	b.clean("media")

	for name, want := range map[string]string{"media.examples.png": "image/png", "media.page.html": "application/octet-stream"} {
		response, err := http.Get(f.server.URL + "/api/sweeps/first/trials/5/artifacts/" + name + "?show=1")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := response.Header.Get("Content-Type"); got != want {
			t.Errorf("%s is %s", name, got)
		}
		isFile := strings.HasPrefix(response.Header.Get("Content-Disposition"), "attachment")
		if policy := response.Header.Get("Content-Security-Policy"); isFile == (want == "image/png") ||
			policy != "default-src 'none'; sandbox" {
			t.Errorf("%s: a file %v, policy %s", name, isFile, policy)
		}
	}
}
