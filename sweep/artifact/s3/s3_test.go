package s3_test

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/artifact/s3"
	"sweep/sweep/sweeptest"
)

// open starts a service with a bucket and returns the store under a prefix of it.
func open(t *testing.T) (*s3.Bucket, *service) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "geheim")
	service, address := startService(t)
	bucket, err := s3.Open("s3://lab/some/prefix?region=us-east-1&endpoint=" + url.QueryEscape(address))
	if err != nil {
		t.Fatal(err)
	}
	return bucket, service
}

func TestBucket(t *testing.T) {
	artifacttest.Run(t, func(t *testing.T) artifact.Backend {
		b, _ := open(t)
		return b
	}, nil)
}

// A service that refuses is a trouble that lasts; one that is out of order is not,
// and is tried again.
func TestRefusals(t *testing.T) {
	b, service := open(t)
	store := artifact.New(b, nil)
	content := artifacttest.Content(1, 40<<20)
	record := artifacttest.Record(sweep.TrialID{Sweep: "s"}, content)
	put := func() error { return store.Put(t.Context(), record.Location, bytes.NewReader(content), record.Size) }
	for _, code := range []string{"AccessDenied", "NoSuchBucket", "InvalidAccessKeyId"} {
		service.refuse = code
		if err := put(); err == nil || !b.Lasting(err) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", code, err)
		}
		var lost *sweep.LostError
		if err := store.Check(t.Context(), record, false); err == nil || errors.As(err, &lost) {
			t.Errorf("%s: %v", code, err)
		}
	}
	service.refuse, service.broken = "", 2
	if err := put(); err != nil {
		t.Fatal(err)
	}
	if err := store.Check(t.Context(), record, true); err != nil || service.broken != 0 {
		t.Errorf("%v, %d", err, service.broken)
	}
	if len(service.objects) != 1 || service.objects["some/prefix/"+record.Location] == nil {
		t.Errorf("%d objects", len(service.objects))
	}
}

func TestOpen(t *testing.T) {
	for address, want := range map[string]string{
		"s3://lab":                         "s3://lab",
		"s3://lab/a/b/":                    "s3://lab/a/b",
		"s3://lab?endpoint=http://h:9000":  "s3://lab at http://h:9000",
		"s3://lab?endpoint=h:9000":         "",
		"s3://lab?endpoint=http://h/path":  "",
		"s3://key:geheim@lab":              "",
		"s3://lab?endpoint=http://a:b@h":   "",
		"s3://lab?secret=geheim":           "",
		"s3:lab":                           "",
		"https://lab":                      "",
		"s3://lab?endpoint=ftp://h":        "",
		"s3://lab/%zz":                     "",
		"s3://lab/a?endpoint=https://h#x=": "",
	} {
		b, err := s3.Open(address)
		switch {
		case want == "" && err == nil:
			t.Errorf("%s is taken", address)
		case want == "" && strings.Contains(err.Error(), "geheim"):
			t.Errorf("%s: the error shows a password: %v", address, err)
		case want != "" && (err != nil || b.Name() != want):
			t.Errorf("%s: %v, %v", address, b, err)
		}
	}
}

// A service that accepts connections and does not answer, and one that does not keep what it accepts, are out of order:
// what they were to store is stored when they work again.
func TestSilentAndForgetfulService(t *testing.T) {
	content := artifacttest.Content(1, 300_000)
	record := artifacttest.Record(sweep.TrialID{Sweep: "s"}, content)
	for want, harm := range map[string]func(*service){
		"does not answer":    func(s *service) { s.silent = make(chan struct{}) },
		"does not have them": func(s *service) { s.forgets = true },
	} {
		b, service := open(t)
		b.SetSilence(time.Second) // a busy machine that needs longer tries again
		store := artifact.New(b, nil)
		service.mu.Lock()
		harm(service)
		service.mu.Unlock()
		done := make(chan error, 1)
		go func() { done <- store.Put(t.Context(), record.Location, bytes.NewReader(content), record.Size) }()
		sweeptest.Until(t, "the store known to fail", func() bool {
			_, problem := store.Failing()
			return problem != nil && strings.Contains(problem.Error(), want)
		})
		service.mu.Lock()
		if service.silent != nil {
			close(service.silent)
		}
		service.silent, service.forgets = nil, false
		service.mu.Unlock()
		if err := sweeptest.Receive(t, "the artifact stored", done); err != nil {
			t.Error(err)
		}
		if err := store.Check(t.Context(), record, true); err != nil {
			t.Error(err)
		}
	}
}
