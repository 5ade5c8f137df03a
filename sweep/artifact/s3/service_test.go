package s3_test

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// service is as much of an S3 service as a store of artifacts speaks to: objects,
// uploads in parts, and lists, of one bucket. It checks digests, not signatures.
type service struct {
	mu      sync.Mutex
	objects map[string][]byte
	parts   map[string]map[int][]byte // by upload
	// refuse, if set, is the code of the error that everything is answered by.
	refuse string
	// broken is how many requests with a body are cut off.
	broken int
	// silent, if set, is what requests wait for before they are answered. forgets says that it keeps no object.
	silent  chan struct{}
	forgets bool
}

func startService(t *testing.T) (*service, string) {
	t.Helper()
	s := &service{objects: map[string][]byte{}, parts: map[string]map[int][]byte{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

func (s *service) fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>no</Message></Error>`, code)
}

// body reads what a request carries, out of the pieces in which it is signed.
func body(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	var content []byte
	in := bufio.NewReader(r.Body)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, err := strconv.ParseInt(strings.SplitN(strings.TrimSpace(line), ";", 2)[0], 16, 64)
		if err != nil || size == 0 {
			return content, err
		}
		piece := make([]byte, size+2)
		if _, err := io.ReadFull(in, piece); err != nil {
			return nil, err
		}
		content = append(content, piece[:size]...)
	}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if silent := s.silent; silent != nil {
		s.mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body) // who asks may be gone
		<-silent
		return
	}
	defer s.mu.Unlock()
	if s.refuse != "" {
		s.fail(w, http.StatusForbidden, s.refuse)
		return
	}
	key, inside := strings.CutPrefix(r.URL.Path, "/lab/")
	query := r.URL.Query()
	content, err := body(r)
	if err != nil {
		s.fail(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	sum := md5.Sum(content)
	if want := r.Header.Get("Content-Md5"); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
		s.fail(w, http.StatusBadRequest, "BadDigest")
		return
	}
	if r.Method == http.MethodPut && s.broken > 0 {
		s.broken--
		s.fail(w, http.StatusServiceUnavailable, "SlowDown")
		return
	}
	tag := `"` + hex.EncodeToString(sum[:]) + `"`
	upload := query.Get("uploadId")
	switch {
	case r.Method == http.MethodGet && query.Has("location"):
		fmt.Fprint(w, `<LocationConstraint></LocationConstraint>`)
	case !inside || key == "":
		s.list(w, query.Get("prefix"))
	case r.Method == http.MethodPost && query.Has("uploads"):
		id := fmt.Sprint(len(s.parts))
		s.parts[id] = map[int][]byte{}
		fmt.Fprintf(w,
			`<InitiateMultipartUploadResult><Bucket>lab</Bucket><UploadId>%s</UploadId></InitiateMultipartUploadResult>`, id)
	case r.Method == http.MethodPut && upload != "":
		n, _ := strconv.Atoi(query.Get("partNumber"))
		s.parts[upload][n] = content
		w.Header().Set("ETag", tag)
	case r.Method == http.MethodPost && upload != "":
		var all []byte
		for n := 1; s.parts[upload][n] != nil; n++ {
			all = append(all, s.parts[upload][n]...)
		}
		s.objects[key] = all
		fmt.Fprint(w,
			`<CompleteMultipartUploadResult><Bucket>lab</Bucket><ETag>"x-2"</ETag></CompleteMultipartUploadResult>`)
	case r.Method == http.MethodDelete && upload != "":
		delete(s.parts, upload)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		if !s.forgets {
			s.objects[key] = content
		}
		w.Header().Set("ETag", tag)
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		object, there := s.objects[key]
		if !there {
			s.fail(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", `"x"`)
		http.ServeContent(w, r, "", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), bytes.NewReader(object))
	}
}

func (s *service) list(w io.Writer, prefix string) {
	type object struct {
		Key  string
		Size int
	}
	list := struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}{}
	for key, content := range s.objects {
		if strings.HasPrefix(key, prefix) {
			list.Contents = append(list.Contents, object{key, len(content)})
		}
	}
	sort.Slice(list.Contents, func(i, j int) bool { return list.Contents[i].Key < list.Contents[j].Key })
	_ = xml.NewEncoder(w).Encode(list)
}
