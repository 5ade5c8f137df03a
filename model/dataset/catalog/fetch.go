package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Client returns a client that fetches over HTTPS alone.
func Client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = time.Minute
	return &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		const most = 10
		switch {
		case next.URL.Scheme != "https":
			return fmt.Errorf("redirected to %s, which is not HTTPS", next.URL.Redacted())
		case len(via) >= most:
			return errors.New("redirected too often")
		}
		return nil
	}}
}

// Fetch brings the file into a data directory, where it appears when its digest is right. What an interrupted fetch
// left beside it, in a file that ends in .part, is continued. A file that is there already is left alone: if it is the
// catalog's, nothing is done, else the error is a *DifferentError.
func (f *File) Fetch(ctx context.Context, client *http.Client, root string) error {
	if err := f.Check(root); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !strings.HasPrefix(f.URL, "https://") {
		return fmt.Errorf("%s: %q is no HTTPS address to fetch it from", f.Path, f.URL)
	}
	path := filepath.Join(root, filepath.FromSlash(f.Path))
	if strings.HasSuffix(f.URL, ".gz") {
		path += ".gz"
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part := path + ".part"
	for {
		had, err := f.receive(ctx, client, part)
		if err != nil {
			return fmt.Errorf("%s: %w; run the same command again to resume", f.URL, err)
		}
		err = f.checkAt(part)
		if err == nil {
			return os.Rename(part, path)
		}
		if !errors.As(err, new(*DifferentError)) {
			return err
		}
		if err := os.Remove(part); err != nil {
			return err
		}
		if had == 0 {
			return fmt.Errorf("%s: the download is not the file of the catalog: %w", f.URL, err)
		}
		// The part belonged to another content: begin anew.
	}
}

// receive appends what the part lacks, and returns how much of it was there before.
func (f *File) receive(ctx context.Context, client *http.Client, part string) (had int64, err error) {
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if had, err = file.Seek(0, io.SeekEnd); err != nil {
		return had, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return had, err
	}
	// The bytes are wanted as they are, not packed for the way.
	request.Header.Set("Accept-Encoding", "identity")
	if had > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", had))
	}
	response, err := client.Do(request)
	if err != nil {
		return had, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	switch response.StatusCode {
	case http.StatusPartialContent:
		got, want := response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", had)
		if !strings.HasPrefix(got, want) {
			return had, fmt.Errorf("the server sent the range %q, expected %s", got, want)
		}
	case http.StatusRequestedRangeNotSatisfiable: // the part is whole, or too long
		return had, nil
	case http.StatusOK:
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return had, err
		}
		if err := file.Truncate(0); err != nil {
			return had, err
		}
		had = 0
	default:
		return had, fmt.Errorf("the server answered %s", response.Status)
	}
	_, err = io.Copy(file, io.LimitReader(response.Body, maxContent))
	return had, err
}
