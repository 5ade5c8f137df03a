package web_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/chromedp"

	"sweep/coordinator/web"
	"sweep/sweep"
)

// exchange asks a server for a session with a ticket.
func exchange(served *web.Server, ticket, host string, header http.Header) int {
	r := httptest.NewRequest("POST", "http://"+host+"/api/session", strings.NewReader(`{"ticket": "`+ticket+`"}`))
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	served.ServeHTTP(w, r)
	return w.Code
}

// TestTicket holds that a ticket is good once, for an hour, on this machine and not through a proxy.
func TestTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := web.New(web.Options{})
		defer served.Close()
		const here = "127.0.0.1:7766"
		if code := exchange(served, "", here, nil); code != http.StatusForbidden {
			t.Errorf("no ticket: %d", code)
		}
		if code := exchange(served, "guessed", here, nil); code != http.StatusUnauthorized {
			t.Errorf("before there is one: %d", code)
		}
		one := served.Ticket()
		for _, c := range []struct {
			name, ticket, host string
			header             http.Header
			want               int
		}{
			{"a guess", one + "x", here, nil, 401},
			{"a name that points here", one, "example.org", nil, 401},
			{"a proxy", one, here, http.Header{"X-Forwarded-For": {"192.0.2.1"}}, 401},
			{"another site", one, here, http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
			{"the terminal's user", one, here, nil, 200},
			{"somebody later", one, here, nil, 401},
		} {
			if code := exchange(served, c.ticket, c.host, c.header); code != c.want {
				t.Errorf("%s: %d, want %d", c.name, code, c.want)
			}
		}
		late, replaced := served.Ticket(), served.Ticket()
		if code := exchange(served, late, here, nil); code != 401 {
			t.Errorf("replaced: %d", code)
		}
		time.Sleep(time.Hour) // of the bubble's clock
		if code := exchange(served, replaced, here, nil); code != 401 {
			t.Errorf("after an hour: %d", code)
		}
		closed := web.New(web.Options{Closed: true})
		defer closed.Close()
		if closed.Ticket() != "" || exchange(closed, "", here, nil) != 403 {
			t.Error("a dashboard beyond this machine has tickets")
		}
	})
}

// TestBrowserTicket holds that a page opened with a ticket may act, and hides the ticket.
func TestBrowserTicket(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	b := openBrowser(t, f.server.URL)
	b.run(chromedp.Navigate(f.server.URL + "/#/sweep/" + sweepID + "/trials?state=failed&ticket=" + f.served.Ticket()))
	b.wait("this machine")
	b.wait("1 trial matches")
	if address := evaluate[string](b, "location.href"); strings.Contains(address, "ticket") ||
		!strings.Contains(address, "state=failed") {
		t.Errorf("the address is %s", address)
	}
	press := `[...document.querySelectorAll("button")].filter((x) => !x.disabled && x.textContent.trim().startsWith("Retry")).at(-1)`
	evaluate[bool](b, press+`.click(); true`)
	b.wait("1 trial is failed")
	evaluate[bool](b, press+`.click(); true`)
	b.wait("1 of 1 trial retried")
	b.clean("ticket")
	states, err := f.store.States(t.Context(), []sweep.TrialID{{Sweep: sweepID, Index: 4}})
	if err != nil || states[sweep.TrialID{Sweep: sweepID, Index: 4}] != sweep.Pending {
		t.Errorf("%v %v", states, err)
	}
}
