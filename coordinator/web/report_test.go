package web_test

import (
	"bytes"
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sweep/sweep"
)

// TestReport holds that a report is one whole page that asks for nothing else, with the best trial,
// figures and causes; that nothing of a sweep is markup in it; and that it is there without results.
func TestReport(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	const id = "20260305-120000-abcdef"
	begin(t, f.store, id, "<b>empty</b>", 30, 2, func(_ int64, result *sweep.Result) {
		*result = sweep.Result{State: sweep.Failed, Error: "<script>alert(1)</script>", Digest: "x"}
	})
	get := func(name string) string {
		t.Helper()
		response, err := http.Get(f.server.URL + "/api/sweeps/" + url.PathEscape(name) + "/report")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var body bytes.Buffer
		if _, err := body.ReadFrom(response.Body); err != nil || response.StatusCode != 200 {
			t.Fatalf("%s %v: %s", response.Status, err, body.String())
		}
		if policy := response.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("the policy is %q", policy)
		}
		return body.String()
	}
	text := html.UnescapeString(get(sweepID))
	for _, want := range []string{"30 trials: 26 completed, 1 diverged, 1 failed, 2 pending", "0.001", "rnn", "explains", "1 failed trials", "Traceback: it broke",
		"name: first", `src="data:image/svg+xml;base64,`} {
		if !strings.Contains(text, want) {
			t.Errorf("the report has no %q", want)
		}
	}
	for _, found := range regexp.MustCompile(`(?:src|href)="([^"]{0,80})|url\(|<script|<link`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(found[1], "data:image/svg+xml;base64,") {
			t.Errorf("the report asks for %s", found[0])
		}
	}
	colours, rules, _ := strings.Cut(text, "font:")
	rules, _, _ = strings.Cut(rules, "</style>")
	if own := regexp.MustCompile(`#[0-9a-f]{6}`).FindString(rules); own != "" || !strings.Contains(colours, "--bad: #a63a00;") {
		t.Errorf("the report has a colour of its own, %s, or none of the dashboard's", own)
	}
	empty := get(id)
	if strings.Contains(empty, "<script") || strings.Contains(empty, "<b>") ||
		!strings.Contains(empty, "No trial has completed") || !strings.Contains(empty, "alert(1)") {
		t.Errorf("%s", empty)
	}
}
