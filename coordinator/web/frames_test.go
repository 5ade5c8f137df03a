package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sweep/coordinator/web"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// paced is a store that says how far a sweep is when it is let go: a reading of trials
// begins with that.
type paced struct {
	sweep.Store
	hold atomic.Pointer[chan struct{}]
	// rows, if not nil, is closed when trials may be read; held says that somebody waits for it.
	rows atomic.Pointer[chan struct{}]
	held atomic.Bool
}

func (h *paced) Rows(ctx context.Context, id string, from, until int64, yield func(*sweep.TrialRow) error) error {
	if rows := h.rows.Load(); rows != nil {
		h.held.Store(true)
		select {
		case <-*rows:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return h.Store.Rows(ctx, id, from, until, yield)
}

func (h *paced) Progress(ctx context.Context, id string) (sweep.Progress, error) {
	if hold := h.hold.Load(); hold != nil {
		select {
		case <-*hold:
		case <-ctx.Done():
			return sweep.Progress{}, ctx.Err()
		}
	}
	return h.Store.Progress(ctx, id)
}

// An answer from what was read before says that it is to be asked for again, also while
// the trials are being read anew: a change that was told is in none of what it says.
func TestAnswerWhileTrialsAreRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	h := &paced{Store: f.store}
	served := web.New(web.Options{Store: h, Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(served)
	t.Cleanup(func() {
		server.Close()
		if err := served.Close(); err != nil {
			t.Error(err)
		}
	})
	// ask returns the state of trial 28, and whether there is more to come.
	ask := func() (state string, more bool) {
		t.Helper()
		var got struct {
			Read   struct{ Complete, Again bool }
			Answer json.RawMessage
		}
		response, text := (&fixture{t: t, server: server}).ask(server.URL + "/api/sweeps/" + sweepID +
			"/trials?where=index%3D28")
		if err := json.Unmarshal(text, &got); err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v: %s", response.Status, err, text)
		}
		for _, s := range []string{"pending", "completed"} {
			if strings.Contains(string(got.Answer), s) {
				state = s
			}
		}
		return state, got.Read.Again || !got.Read.Complete
	}
	sweeptest.Until(t, "the trials", func() bool { state, _ := ask(); return state == "pending" })
	hold := make(chan struct{})
	_, done := trialOf(sweepID, 27)
	event := sweep.Event{Kind: sweep.EventResult, TrialID: sweep.TrialID{Sweep: sweepID, Index: 28}, Execution: "x",
		Worker: "w", Time: time.Now(), Result: done}
	h.hold.Store(&hold)
	if _, err := f.store.Record(t.Context(), []sweep.Event{event}); err != nil {
		t.Fatal(err)
	}
	// Some questions come before the columns are due, some while they are read.
	began := time.Now()
	sweeptest.Until(t, "questions while the trials are read", func() bool {
		state, more := ask()
		if state == "pending" && !more {
			t.Fatal("an answer without the result of trial 28 says that no more is to come")
		}
		return time.Since(began) > 2*time.Second
	})
	h.hold.Store(nil)
	close(hold)
	sweeptest.Until(t, "the result", func() bool { state, _ := ask(); return state == "completed" })
}

// retries is a Control that retries whatever it is asked to.
type retries struct{ web.Control }

func (retries) RetryNamed(_ context.Context, _ string, indices []int64) (int64, error) {
	return int64(len(indices)), nil
}

// An action waits for the trials that are being read, and is not refused.
func TestActionWhileTrialsAreRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, filepath.Join(t.TempDir(), "sweep.db"), false)
	fill(t, f.store, sweepID, "first", 30)
	secret, err := f.tokens.Create("actor", false, 0)
	if err != nil {
		t.Fatal(err)
	}
	h := &paced{Store: f.store}
	served := web.New(web.Options{Store: h, Tokens: f.tokens, Control: retries{}, Dir: t.TempDir(),
		Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(served)
	t.Cleanup(func() {
		server.Close()
		if err := served.Close(); err != nil {
			t.Error(err)
		}
	})
	mine := &fixture{t: t, server: server}
	var page trialsPage
	mine.get("sweeps/first/trials", nil, &page)
	rows := make(chan struct{})
	h.rows.Store(&rows)
	sweeptest.Until(t, "the trials to be read again", func() bool {
		mine.try("sweeps/first/trials", nil, &page)
		return h.held.Load()
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/sweeps/first/retry",
		strings.NewReader(`{"states":["failed"],"expect":1}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	answered := make(chan string, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			answered <- err.Error()
			return
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		answered <- fmt.Sprint(response.StatusCode, " ", string(text), err)
	}()
	// An answer that does not wait comes within this time.
	for began := time.Now(); len(answered) == 0 && time.Since(began) < time.Second; {
		mine.try("sweeps/first/trials", nil, &page)
	}
	h.rows.Store(nil)
	close(rows)
	if got := sweeptest.Receive(t, "the action", answered); !strings.HasPrefix(got, "200 ") {
		t.Errorf("an action while trials are read: %s", got)
	}
}

// The list has an edit as soon as it is made here, also of a trial and sweep that have ended, and a
// while after it was made elsewhere.
func TestEditedTrials(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		secret, err := f.tokens.Create("actor", false, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.store.CancelTrials(t.Context(), sweepID); err != nil {
			t.Fatal(err)
		}
		// ask returns the trials that have a tag, and whether more is to come.
		ask := func(tag string) (indices []int64, more bool) {
			t.Helper()
			var got struct {
				Read   struct{ Complete, Again bool }
				Answer trialsPage
			}
			response, text := f.ask(f.server.URL + "/api/sweeps/first/trials?column=tag&where=tag%3D" + tag)
			if err := json.Unmarshal(text, &got); err != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("%s: %v: %s", response.Status, err, text)
			}
			for _, row := range got.Answer.Rows {
				indices = append(indices, row.Index)
			}
			return indices, got.Read.Again || !got.Read.Complete
		}
		sweeptest.Until(t, "all trials", func() bool { _, more := ask("slow"); return !more })
		for _, index := range []int64{3, 9} {
			status, answer := f.request("POST", "sweeps/first/annotate", fmt.Sprintf(`{"index":%d,"tags":["slow","odd"]}`,
				index), map[string]string{"Authorization": "Bearer " + secret})
			if status != http.StatusOK {
				t.Fatal(status, answer)
			}
			sweeptest.Until(t, "the tags", func() bool {
				tagged, more := ask("slow")
				if !slices.Contains(tagged, index) && !more {
					t.Fatalf("an answer has the tagged trials %v, without trial %d, and says that no more is to come", tagged,
						index)
				}
				return !more
			})
		}
		index := int64(3)
		err = f.store.SetAnnotation(t.Context(), sweepID, sweep.Edit{Index: &index, Tags: []string{}, By: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		sweeptest.Until(t, "the edit", func() bool {
			tagged, _ := ask("odd")
			return slices.Equal(tagged, []int64{9})
		})
	})
}
