// Package s3 stores artifacts in a bucket of an S3-compatible service:
//
//	bucket, err := s3.Open("s3://artifacts/sweeps?endpoint=https://minio.example.org:9000")
//	store := artifact.New(bucket, log)
package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"sweep/sweep"
	"sweep/sweep/artifact"
)

// amazon is the default endpoint.
const amazon = "https://s3.amazonaws.com"

// partSize is the size of the parts of an upload in bytes: a failed part is sent again.
const partSize = 16 << 20

// silence is how long a service may take to answer, or to take the next bytes of an upload; puttingTogether times as
// long to make one object of the parts of a large one.
const (
	silence         = 30 * time.Second
	puttingTogether = 4
)

// errSilent says that a service does not answer.
var errSilent = errors.New("the service does not answer")

// quotaExceeded is a service's code for a bucket without room.
const quotaExceeded = "QuotaExceeded"

// Bucket is a bucket, or the part of it under a prefix.
type Bucket struct {
	client         *minio.Client
	endpoint       *url.URL
	bucket, prefix string
	// silence is the constant, but in tests.
	silence time.Duration
}

var _ artifact.Backend = (*Bucket)(nil)

// Open returns the store at an address:
//
//	s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION
//
// The default endpoint is Amazon's. The keys are read from the environment (AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, or MINIO_ACCESS_KEY and MINIO_SECRET_KEY), from ~/.aws/credentials or, at
// Amazon, from the machine's role. The bucket must exist.
func Open(address string) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.Fragment != "" {
		return nil, errors.New("expected s3://BUCKET/PREFIX?endpoint=https://HOST:PORT")
	}
	if u.User != nil {
		return nil, errors.New("keys do not belong in the address: they are read from AWS_ACCESS_KEY_ID and " +
			"AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials")
	}
	query := u.Query()
	for name := range query {
		if name != "endpoint" && name != "region" {
			return nil, fmt.Errorf("no such setting %q: expected endpoint or region", name)
		}
	}
	at := cmp.Or(query.Get("endpoint"), amazon)
	endpoint, err := url.Parse(at)
	if err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" ||
		endpoint.User != nil || strings.Trim(endpoint.Path, "/") != "" {
		return nil, errors.New("the endpoint is no address of a service: expected https://HOST:PORT")
	}
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.EnvMinio{},
		&credentials.FileAWSCredentials{}}
	if at == amazon { // other services have no roles of machines
		providers = append(providers, &credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport}})
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials(providers), Secure: endpoint.Scheme == "https",
		Region: query.Get("region"),
	})
	if err != nil {
		return nil, err
	}
	return &Bucket{client, endpoint, u.Host, strings.Trim(u.Path, "/"), silence}, nil
}

// Name implements artifact.Backend.
func (b *Bucket) Name() string {
	name := "s3://" + path.Join(b.bucket, b.prefix)
	if b.endpoint.String() != amazon {
		name += " at " + b.endpoint.String()
	}
	return name
}

// Prepare implements artifact.Backend.
func (b *Bucket) Prepare(context.Context, string) error { return nil }

func (b *Bucket) key(location string) string { return path.Join(b.prefix, location) }

// missing adds fs.ErrNotExist to the error for an object that does not exist.
func missing(err error) error {
	if err != nil && minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return errors.Join(err, fs.ErrNotExist)
	}
	return err
}

// Write implements artifact.Backend. The service checks a digest of what arrives.
func (b *Bucket) Write(ctx context.Context, location string, content *io.SectionReader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := b.silence
	if content.Size() >= partSize {
		silence *= puttingTogether
	}
	silent := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer silent.Stop()
	_, err := b.client.PutObject(ctx, b.bucket, b.key(location), content, content.Size(), minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: partSize, SendContentMd5: true,
		Progress: progress(func() { silent.Reset(silence) }),
	})
	if minio.ToErrorResponse(err).Code == quotaExceeded {
		return fmt.Errorf("%w: %w", sweep.ErrStoreFull, err)
	}
	return explain(ctx, err)
}

// explain replaces the error of a call that ended because the service did not answer, and adds the code of an answer.
func explain(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	if answer, ok := errors.AsType[minio.ErrorResponse](err); ok && !strings.Contains(err.Error(), answer.Code) {
		return fmt.Errorf("%s: %w", answer.Code, err)
	}
	return err
}

// progress is called whenever some of an upload is sent: the service has its time again.
type progress func()

// Read implements io.Reader.
func (p progress) Read(sent []byte) (int, error) {
	p()
	return len(sent), nil
}

// Read implements artifact.Backend.
func (b *Bucket) Read(ctx context.Context, location string, from int64) (io.ReadCloser, error) {
	if _, err := b.Size(ctx, location); err != nil { // GetObject fails only when it is read
		return nil, err
	}
	var options minio.GetObjectOptions
	if from > 0 {
		if err := options.SetRange(from, 0); err != nil { // to the end
			return nil, err
		}
	}
	return b.client.GetObject(ctx, b.bucket, b.key(location), options)
}

// Size implements artifact.Backend.
func (b *Bucket) Size(ctx context.Context, location string) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.silence, errSilent)
	defer cancel()
	info, err := b.client.StatObject(ctx, b.bucket, b.key(location), minio.StatObjectOptions{})
	return info.Size, explain(ctx, missing(err))
}

// Remove implements artifact.Backend.
func (b *Bucket) Remove(ctx context.Context, prefix string, keep func(location string) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the list ends early if something fails
	under := ""
	if b.prefix != "" {
		under = b.prefix + "/"
	}
	for object := range b.client.ListObjects(ctx, b.bucket, minio.ListObjectsOptions{Prefix: under + prefix,
		Recursive: true}) {
		if object.Err != nil {
			return object.Err
		}
		if keep(strings.TrimPrefix(object.Key, under)) {
			continue
		}
		if err := b.client.RemoveObject(ctx, b.bucket, object.Key, minio.RemoveObjectOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements artifact.Backend.
func (b *Bucket) Delete(ctx context.Context, location string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.silence, errSilent)
	defer cancel()
	return explain(ctx, b.client.RemoveObject(ctx, b.bucket, b.key(location), minio.RemoveObjectOptions{}))
}

// Lasting implements artifact.Backend.
func (b *Bucket) Lasting(err error) bool {
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && slices.Contains([]string{minio.AccessDenied, minio.NoSuchBucket, "InvalidAccessKeyId",
		"SignatureDoesNotMatch", "EntityTooLarge", quotaExceeded}, answer.Code)
}
