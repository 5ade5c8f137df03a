package web_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"sweep/coordinator/web"
	"sweep/sweep"
)

// contentOf are the bytes of an artifact of trial 3; all but one are of several pieces.
func contentOf(name string) []byte {
	if name == "spoilt" {
		return []byte("short")
	}
	return bytes.Repeat([]byte(name+" "), 1<<16)
}

// leave stores the artifacts of trial 3 of a sweep, of which one is lost since and two
// are damaged.
func (f *fixture) leave(id string) {
	f.t.Helper()
	err := f.store.Artifacts(f.t.Context(), sweep.ArtifactQuery{Sweep: id}, func(a *sweep.ArtifactRecord) error {
		content := contentOf(a.Name)
		switch a.Name {
		case "never", "lost":
			return nil
		case "spoilt", "spoilt-long":
			content[len(content)/2]++
		}
		return f.artifacts.Write(f.t.Context(), a.Location, io.NewSectionReader(bytes.NewReader(content), 0,
			int64(len(content))))
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// What a trial left comes as a file, whole or not at all, and what keeps it from coming
// is said.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		f.leave(sweepID)
		at := f.server.URL + "/api/sweeps/first/trials/3/artifacts"
		response, err := http.Get(at + "/weights")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		response.Body.Close()
		want := contentOf("weights")
		if err != nil || response.StatusCode != http.StatusOK || !bytes.Equal(got, want) ||
			response.ContentLength != int64(len(want)) {
			t.Fatalf("%s, %v, %d bytes of %d", response.Status, err, len(got), len(want))
		}
		sum := sha256.Sum256(want)
		for name, value := range map[string]string{
			"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; sandbox",
			"Cache-Control":           "no-store", "Repr-Digest": "sha-256=:" +
				base64.StdEncoding.EncodeToString(sum[:]) + ":",
		} {
			if got := response.Header.Get(name); got != value {
				t.Errorf("%s: %q, want %q", name, got, value)
			}
		}
		disposition, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Disposition"))
		if err != nil || disposition != "attachment" || parameters["filename"] != sweepID+"-3-weights" {
			t.Errorf("%s %v %v", disposition, parameters, err)
		}
		if response, err = http.Head(at + "/weights"); err != nil || response.StatusCode != http.StatusOK ||
			response.ContentLength != int64(len(want)) {
			t.Errorf("HEAD: %v %v", response, err)
		}
		response.Body.Close()

		for _, refused := range []struct {
			path   string
			status int
			says   string
		}{
			{"/lost", http.StatusGone, "it is lost in file://"},
			{"/spoilt", http.StatusGone, "its digest does not match"},
			{"/never", http.StatusGone, "it has 3 GB"},
			{"/other", http.StatusNotFound, "its sweep does not ask for it"},
			{"/..%2F..%2Fetc%2Fpasswd", http.StatusNotFound, "not found"},
			{"/../../4/artifacts/weights", http.StatusNotFound, "the trial is failed"},
			{"/../../99/artifacts/weights", http.StatusNotFound, "there is no trial 99"},
			{"/../../x/artifacts/weights", http.StatusBadRequest, "not a trial index"},
		} {
			response, err := http.Get(at + refused.path)
			if err != nil {
				t.Fatal(err)
			}
			var body struct{ Error string }
			err = json.NewDecoder(response.Body).Decode(&body)
			response.Body.Close()
			if err != nil || response.StatusCode != refused.status || !strings.Contains(body.Error, refused.says) ||
				response.Header.Get("Content-Disposition") != "" {
				t.Errorf("%s: %s, %q, %v", refused.path, response.Status, body.Error, err)
			}
		}
		// Of what turns out damaged on its way the end does not come.
		if response, err = http.Get(at + "/spoilt-long"); err != nil {
			t.Fatal(err)
		}
		got, err = io.ReadAll(response.Body)
		response.Body.Close()
		if err == nil || len(got) >= len(contentOf("spoilt-long")) {
			t.Errorf("%d bytes came, and no error", len(got))
		}

		states := func(name string) string {
			t.Helper()
			var found struct {
				Artifacts []struct{ Name, State, Problem string }
			}
			f.get("sweeps/first/trials/3/artifacts", map[string][]string{"name": {name}}, &found)
			list := ""
			for _, a := range found.Artifacts {
				list += fmt.Sprintf("%s %s, ", a.Name, a.State)
			}
			return list
		}
		if got := states(""); got != "lost lost, never missing, spoilt stored, spoilt-long stored, weights stored, " {
			t.Errorf("by size they are %s", got)
		}
		if got := states("spoilt-long") + states("weights"); got != "spoilt-long damaged, weights stored, " {
			t.Errorf("by digest they are %s", got)
		}
	})
}

// Artifacts are read by whoever may read, and by nobody where there is no store of them.
func TestArtifactsAccess(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), true)
	fill(t, f.store, sweepID, "first", 30)
	f.leave(sweepID)
	secret, err := f.tokens.Create("reader", true, 0)
	if err != nil {
		t.Fatal(err)
	}
	status := func(handler http.Handler, token string) int {
		t.Helper()
		request, err := http.NewRequest(http.MethodGet, f.server.URL+"/api/sweeps/first/trials/3/artifacts/weights",
			nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	if got := status(f.served, ""); got != http.StatusUnauthorized {
		t.Errorf("without a token: %d", got)
	}
	if got := status(f.served, secret); got != http.StatusOK {
		t.Errorf("with a token: %d", got)
	}
	bare := web.New(web.Options{Store: f.store, Tokens: f.tokens, Closed: true, Dir: t.TempDir()})
	defer bare.Close()
	if got := status(bare, secret); got != http.StatusNotFound {
		t.Errorf("without an artifact store: %d", got)
	}
}

// TestBrowserArtifacts holds that a click keeps the file, and that the page says what is
// wrong with those that do not come.
func TestBrowserArtifacts(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	f.leave(sweepID)
	b := openBrowser(t, f.server.URL)
	dir := t.TempDir()
	allow := protocol.SetDownloadBehaviorParams{Behavior: protocol.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir}
	if _, err := chromedp.Call(b.ctx, protocol.SetDownloadBehavior, allow); err != nil {
		t.Fatal(err)
	}
	row := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("table[aria-label=Artifacts] tbody tr")].find((x) => x.cells[0].innerText === %q)`, name)
	}
	click := func(name string) {
		t.Helper()
		evaluate[bool](b, row(name)+`.querySelector("a").click(); true`)
	}
	says := func(name, text string) {
		t.Helper()
		b.until(fmt.Sprintf(`%s.innerText.includes(%q)`, row(name), text))
	}
	b.visit("#/trial/"+sweepID+"/3", "Artifacts")
	says("weights", "stored")
	says("lost", "it is lost in")
	says("never", "it has 3 GB")
	for _, name := range []string{"lost", "never"} {
		if evaluate[bool](b, `!!`+row(name)+`.querySelector("a")`) {
			t.Errorf("%s has a link", name)
		}
	}
	click("weights")
	says("weights", "digest verified")
	path := filepath.Join(dir, sweepID+"-3-weights")
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got, err := os.ReadFile(path)
		if err == nil && bytes.Equal(got, contentOf("weights")) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the file did not come: %v, %d bytes", err, len(got))
		}
	}
	for _, name := range []string{"spoilt", "spoilt-long"} {
		click(name)
		says(name, "its digest does not match")
		says(name, "damaged")
	}
	for _, dark := range []bool{false, true} {
		b.dark(dark)
		b.axe("artifacts")
		b.picture("artifacts" + map[bool]string{true: "-dark", false: ""}[dark])
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	b.clean("artifacts")
}
