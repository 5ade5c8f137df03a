package catalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Every line of the list says what a file needs.
func TestCatalog(t *testing.T) {
	counts := map[string]int{}
	for _, s := range All() {
		if s.Title == "" || s.Licence == "" || s.Source == "" || (s.ByHand == "") != (s.base != "") {
			t.Errorf("%+v", s)
		}
		for _, f := range s.Files {
			counts[s.Name]++
			if _, err := hex.DecodeString(f.Digest); err != nil || len(f.Digest) != 64 && len(f.Digest) != 40 ||
				len(f.Digest) == 64 && f.Size == 0 || !strings.HasPrefix(f.Path, s.Name+"/") || !fs.ValidPath(f.Path) ||
				(f.URL != "") != (s.base != "") || f.URL != "" && !strings.HasPrefix(f.URL, "https://") ||
				strings.ContainsAny(f.URL, " \\") {
				t.Errorf("%+v", f)
			}
		}
	}
	if fmt.Sprint(counts) != "map[har:24 mnist:4 ptb:3 speech:8 ucr:42]" {
		t.Error(counts)
	}
	for i, line := range strings.Split(strings.TrimSuffix(files, "\n"), "\n") {
		if field := strings.Split(line, "\t"); len(field) != 4 {
			t.Errorf("line %d: %q", i+1, line)
		} else if _, err := strconv.ParseInt(field[2], 10, 64); err != nil {
			t.Errorf("line %d: %v", i+1, err)
		}
	}
	if _, err := Find([]string{"mnist", "minst"}); err == nil || !strings.Contains(err.Error(), "ucr, mnist") {
		t.Errorf("an unknown set: %v", err)
	}
}

// The files that are there are the catalog's.
func TestRealFiles(t *testing.T) {
	root := os.Getenv("SWEEP_TEST_DATA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(root); err != nil {
		t.Skipf("left out: the real data are not there (%v); set SWEEP_TEST_DATA", err)
	}
	for _, s := range All() {
		for _, f := range s.Files {
			err := f.Check(root)
			// One test file was rebuilt from single precision.
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !strings.Contains(f.Path, "ECG5000_TEST") {
				t.Error(err)
			}
		}
	}
}

func gz(t *testing.T, content string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func sha(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	root := t.TempDir()
	f := File{Path: "set/a b.txt", Digest: sha("content")}
	at := filepath.Join(root, "set", "a b.txt")
	if err := f.Check(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	put(t, at+".gz", gz(t, "content"))
	if err := f.Check(root); err != nil {
		t.Errorf("packed: %v", err)
	}
	put(t, at+".gz", gz(t, "content")[:20])
	var different *DifferentError
	if err := f.Check(root); !errors.As(err, &different) || different.Got != damagedGzip {
		t.Errorf("half a packed file: %v", err)
	}
	put(t, at, "contents")
	if err := f.Check(root); !errors.As(err, &different) || different.Path != at {
		t.Errorf("another content: %v", err)
	}
	f.Digest = "6b584e8ece562ebffc15d38808cd6b98fc3d97ea" // printf content | git hash-object --stdin
	put(t, at, "content")
	if err := f.Check(root); err != nil {
		t.Errorf("by git's object ID: %v", err)
	}
}

func TestFetch(t *testing.T) {
	whole := strings.Repeat("0123456789", 5000)
	var ranges []string
	var deny, cut, ignore bool // what the server does otherwise
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		switch {
		case deny:
			http.Error(w, "no", http.StatusForbidden)
		case cut:
			w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
			_, _ = w.Write([]byte(whole[:20_000])) // the connection breaks
		case r.URL.Path == "/plain":
			http.Redirect(w, r, "http://"+r.Host+"/file", http.StatusFound)
		case ignore:
			_, _ = w.Write([]byte(whole)) // the client sees what is missing
		default:
			http.ServeContent(w, r, "file", time.Time{}, strings.NewReader(whole))
		}
	}))
	defer server.Close()
	client := server.Client()
	client.CheckRedirect = Client().CheckRedirect
	f := File{Path: "set/file", Digest: sha(whole), URL: server.URL + "/file"}
	root := t.TempDir()
	at := filepath.Join(root, "set", "file")
	fetch := func(wrong string, wantRanges ...string) {
		t.Helper()
		ranges = nil
		err := f.Fetch(t.Context(), client, root)
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%v, want %q", err, wrong)
		}
		if fmt.Sprint(ranges) != fmt.Sprint(wantRanges) {
			t.Errorf("ranges %q, want %q", ranges, wantRanges)
		}
		_, there := os.Stat(at)
		if _, part := os.Stat(at + ".part"); wrong == "" && (there != nil || part == nil) {
			t.Errorf("the file: %v; its part: %v", there, part)
		}
	}
	deny = true
	fetch("403 Forbidden", "")
	deny, cut = false, true
	fetch("run the same command again to resume", "")
	cut = false
	fetch("", "bytes=20000-")
	fetch("") // it is there

	for _, part := range []string{"a part of other contents", whole, whole + "and more"} {
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
		put(t, at+".part", part)
		want := []string{fmt.Sprintf("bytes=%d-", len(part))}
		if part != whole {
			want = append(want, "")
		}
		fetch("", want...)
	}
	ignore = true // a server without ranges
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	put(t, at+".part", whole[:10])
	fetch("", "bytes=10-")
	ignore = false

	put(t, at, "the user's own")
	fetch("digest")
	if own, err := os.ReadFile(at); err != nil || string(own) != "the user's own" {
		t.Errorf("a file that was there is now %q, %v", own, err)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	f.Digest = sha("something else")
	fetch("not the file of the catalog", "")
	f.URL = server.URL + "/plain"
	fetch("not HTTPS", "")
	f.URL = "http://localhost/file"
	fetch("no HTTPS address")
	f.URL = server.URL + "/file"
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := f.Fetch(stopped, client, root); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
