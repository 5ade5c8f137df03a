package wire

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
)

// DefaultBucket begins the names of the buckets that artifacts go into.
const DefaultBucket = "SWEEP_ARTIFACTS"

const (
	// objectPart is the size of the objects that an artifact is cut into, in bytes:
	// an upload that was interrupted goes on behind the last whole one. It is less
	// than a server takes in before it has stored it.
	objectPart = 16 << 20
	// partTimeout bounds the carrying of one.
	partTimeout = 2 * time.Minute
	// abandonedAge is how old the pieces of an object that was never finished are when
	// they are removed.
	abandonedAge = time.Hour
	// sizeKey is the artifact's size among what its first part says of itself.
	sizeKey = "sweep-size"
)

// Objects keeps artifacts in JetStream object stores, a bucket for each pool, so
// that workers have nothing to do with the artifacts of others. It is an
// artifact.Backend. An artifact is cut into the objects LOCATION/0, LOCATION/1, ….
type Objects struct {
	wire *Wire
	name string
	// size is how many bytes each bucket may have; 0 means a share of the servers' storage.
	size int64
	// boxes has the buckets that were opened, by name.
	boxes sync.Map
}

// Objects returns the artifact store in the buckets NAME_POOL. Each may have size
// bytes; if size is 0, Prepare gives a bucket without a bound a share of what the
// servers store.
func (w *Wire) Objects(name string, size int64) (*Objects, error) {
	if !bucketName.MatchString(name) {
		return nil, fmt.Errorf("bucket %q: a name has letters, digits, _ and -", name)
	}
	return &Objects{wire: w, name: name, size: size}, nil
}

var bucketName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// Name implements artifact.Backend.
func (o *Objects) Name() string { return "nats://" + o.name }

// bucket is the name of a pool's bucket.
func (o *Objects) bucket(pool string) string {
	if !bucketName.MatchString(pool) {
		pool = "x" + hex.EncodeToString([]byte(pool))
	}
	return o.name + "_" + pool
}

// box is a pool's bucket.
type box struct {
	name    string
	objects jetstream.ObjectStore
	stream  jetstream.Stream
}

// open opens the bucket of a location's pool.
func (o *Objects) open(ctx context.Context, location string) (*box, error) {
	pool, _, _ := strings.Cut(location, "/")
	b := &box{name: o.bucket(pool)}
	if opened, ok := o.boxes.Load(b.name); ok {
		return opened.(*box), nil // it is its name that counts, should it be made anew
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var err error
	if b.objects, err = o.wire.js.ObjectStore(ctx, b.name); err == nil {
		b.stream, err = o.wire.js.Stream(ctx, streamPrefix+b.name)
	}
	if err == nil {
		o.boxes.Store(b.name, b)
	}
	return b, wrap(err, "bucket %s", b.name)
}

// part is the name of one of the objects of an artifact.
func part(location string, i int64) string { return location + "/" + strconv.FormatInt(i, 10) }

// parts is how many objects an artifact is cut into.
func parts(size int64) int64 { return max(1, (size+objectPart-1)/objectPart) }

// isAbsent reports whether an error says that an object is not there, or not whole.
func isAbsent(err error) bool {
	return errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) ||
		errors.Is(err, jetstream.ErrStreamNotFound)
}

// info loads what is said of an object, if all of its pieces are there.
func (b *box) info(ctx context.Context, name string) (*jetstream.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	info, err := b.objects.GetInfo(ctx, name)
	if err != nil || info.Chunks == 0 {
		return info, err
	}
	subject := "$O." + b.name + ".C." + info.NUID
	stream, err := b.stream.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return nil, err
	}
	if n := stream.State.Subjects[subject]; n != uint64(info.Chunks) {
		return nil, fmt.Errorf("object %s: %d of %d pieces are there: %w", name, n, info.Chunks,
			jetstream.ErrObjectNotFound)
	}
	return info, nil
}

// Write implements artifact.Backend. Parts that are there are not sent again.
func (o *Objects) Write(ctx context.Context, location string, content *io.SectionReader) error {
	if !o.wire.conn.IsConnected() {
		return nats.ErrConnectionReconnecting
	}
	b, err := o.open(ctx, location)
	if err != nil {
		return err
	}
	if content.Size() > objectPart { // what is smaller is soon known not to fit
		if _, err := b.info(ctx, part(location, 0)); isAbsent(err) {
			if err := b.hasRoom(ctx, content.Size()); err != nil {
				return err
			}
		}
	}
	for i := range parts(content.Size()) {
		section := io.NewSectionReader(content, i*objectPart, min(objectPart, content.Size()-i*objectPart))
		if err := b.write(ctx, part(location, i), section, content.Size()); err != nil {
			return fmt.Errorf("part %d of %d: %w", i+1, parts(content.Size()), err)
		}
	}
	return nil
}

func (b *box) write(ctx context.Context, name string, content *io.SectionReader, size int64) error {
	h := sha256.New()
	if _, err := io.Copy(h, content); err != nil {
		return err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	info, err := b.info(ctx, name)
	switch {
	case err == nil && info.Digest == jetstream.GetObjectDigestValue(h) &&
		info.Metadata[sizeKey] == strconv.FormatInt(size, 10):
		return nil
	case err != nil && !isAbsent(err):
		return err
	}
	// Without a deadline each piece has the client's own.
	bound, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(partTimeout, cancel)
	defer timer.Stop()
	_, err = b.objects.Put(bound, jetstream.ObjectMeta{Name: name,
		Metadata: map[string]string{sizeKey: strconv.FormatInt(size, 10)}}, content)
	if _, full := fullCode(err); !full {
		return err
	}
	// Its name may have had room though its pieces had none.
	_ = b.purge(ctx, nameSubject(name)) // or it is an object that lacks pieces
	return b.full(ctx, err)
}

// nameSubject is the end of the subject of what is said of an object.
func nameSubject(name string) string { return "M." + base64.URLEncoding.EncodeToString([]byte(name)) }

// size is an artifact's size, if all of it is there.
func (b *box) size(ctx context.Context, location string) (int64, error) {
	first, err := b.info(ctx, part(location, 0))
	if isAbsent(err) {
		err = errors.Join(err, fs.ErrNotExist)
	}
	if err != nil {
		return 0, err
	}
	size, err := strconv.ParseInt(first.Metadata[sizeKey], 10, 64)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("object %s does not say how large its artifact is", first.Name)
	}
	for i := range parts(size) - 1 {
		_, err := b.info(ctx, part(location, i+1))
		if isAbsent(err) {
			err = errors.Join(err, fs.ErrNotExist)
		}
		if err != nil {
			return 0, err
		}
	}
	return size, nil
}

// Size implements artifact.Backend.
func (o *Objects) Size(ctx context.Context, location string) (int64, error) {
	b, err := o.open(ctx, location)
	if isAbsent(err) {
		err = errors.Join(err, fs.ErrNotExist)
	}
	if err != nil {
		return 0, err
	}
	return b.size(ctx, location)
}

// Read implements artifact.Backend.
func (o *Objects) Read(ctx context.Context, location string, from int64) (io.ReadCloser, error) {
	b, err := o.open(ctx, location)
	var size int64
	if err == nil { // what lacks a piece would be waited for
		size, err = b.size(ctx, location)
	}
	if isAbsent(err) {
		err = errors.Join(err, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return &objectReader{ctx: ctx, box: b, location: location, next: from / objectPart, skip: from % objectPart,
		parts: parts(size)}, nil
}

// objectReader reads the parts of an artifact, one after the other.
type objectReader struct {
	ctx         context.Context
	box         *box
	location    string
	next, parts int64
	skip        int64                  // so much of the first is not wanted
	part        jetstream.ObjectResult // nil between two
	end         context.CancelFunc
}

// Read implements io.Reader.
func (r *objectReader) Read(p []byte) (int, error) {
	for {
		if r.part == nil {
			if r.next == r.parts {
				return 0, io.EOF
			}
			bound, cancel := context.WithTimeout(r.ctx, partTimeout)
			opened, err := r.box.objects.Get(bound, part(r.location, r.next))
			if err != nil {
				cancel()
				return 0, err
			}
			r.part, r.end = opened, cancel
			r.next++
			if _, err := io.CopyN(io.Discard, opened, r.skip); err != nil {
				return 0, err
			}
			r.skip = 0
		}
		n, err := r.part.Read(p)
		if errors.Is(err, io.EOF) {
			err = r.Close()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Close implements io.Closer.
func (r *objectReader) Close() error {
	if r.part == nil {
		return nil
	}
	err := r.part.Close()
	r.end()
	r.part = nil
	return err
}

// Remove implements artifact.Backend. It removes too what was left of uploads that
// were never finished.
func (o *Objects) Remove(ctx context.Context, prefix string, keep func(location string) bool) error {
	b, err := o.open(ctx, prefix)
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	list, err := b.objects.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return err
	}
	live := map[string]bool{}
	for _, info := range list {
		at := strings.LastIndexByte(info.Name, '/')
		if at < 0 || !strings.HasPrefix(info.Name, prefix) || keep(info.Name[:at]) {
			live[info.NUID] = true
			continue
		}
		// Its name first: pieces without one are abandoned, and found as such.
		for _, subject := range []string{nameSubject(info.Name), "C." + info.NUID} {
			if err := b.purge(ctx, subject); err != nil {
				return err
			}
		}
	}
	return b.removeAbandoned(ctx, live)
}

// purge removes the messages of a subject of the bucket.
func (b *box) purge(ctx context.Context, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return b.stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+b.name+"."+subject))
}

// removeAbandoned removes old pieces that belong to no object.
func (b *box) removeAbandoned(ctx context.Context, live map[string]bool) error {
	prefix := "$O." + b.name + ".C."
	bound, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	info, err := b.stream.Info(bound, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		nuid := strings.TrimPrefix(subject, prefix)
		if live[nuid] {
			continue
		}
		last, err := b.stream.GetLastMsgForSubject(bound, subject)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
		case err != nil:
			return err
		case time.Since(last.Time) > abandonedAge:
			if err := b.purge(ctx, "C."+nuid); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lasting implements artifact.Backend.
func (o *Objects) Lasting(err error) bool {
	return errors.Is(err, sweep.ErrStoreFull) || errors.Is(err, nats.ErrPermissionViolation) ||
		errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrConnectionClosed)
}
