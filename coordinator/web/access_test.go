package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"
)

// TestSessionsOfPorts holds that a browser is signed in at two dashboards of one host, which
// share its cookies, and that signing out of one leaves the other.
func TestSessionsOfPorts(t *testing.T) {
	t.Parallel()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	ask := func(f *fixture, method, body string) (name string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, f.server.URL+"/api/session", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var answer struct{ Name string }
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response.Status, err)
		}
		return answer.Name
	}
	var dashboards []*fixture
	for _, name := range []string{"first", "second"} {
		f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), true)
		secret, err := f.tokens.Create(name, false, 0)
		if err != nil {
			t.Fatal(err)
		}
		ask(f, "POST", fmt.Sprintf(`{"token":%q}`, secret))
		dashboards = append(dashboards, f)
	}
	names := func() string { return ask(dashboards[0], "GET", "") + "," + ask(dashboards[1], "GET", "") }
	if got := names(); got != "first,second" {
		t.Errorf("signed in as %q", got)
	}
	ask(dashboards[1], "DELETE", "{}")
	if got := names(); got != "first," {
		t.Errorf("signed in as %q after signing out of the second", got)
	}
}
