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

// DefaultBucket is the prefix of the names of the buckets of artifacts.
const DefaultBucket = "SWEEP_ARTIFACTS"

const (
	// objectPart is the size in bytes of the objects of an artifact: an interrupted upload
	// resumes after the last whole one. It is less than a server accepts unstored.
	objectPart = 16 << 20
	// pieceTime bounds the wait until one of its pieces of 128 KiB is stored. All are sent at once.
	pieceTime = 20 * time.Second
	// partTimeout bounds the transfer of one.
	partTimeout = 2 * time.Minute
	// abandonedAge is the age from which the pieces of an unfinished object are removed.
	abandonedAge = time.Hour
	// sizeKey is the key of the artifact's size in the metadata of its parts.
	sizeKey = "sweep-size"
)

// Objects is an artifact.Backend in JetStream object stores. Each pool has a bucket, so that workers
// cannot access the artifacts of other pools. An artifact is the objects LOCATION/0, LOCATION/1, ….
type Objects struct {
	wire *Wire
	name string
	// size is the limit of each bucket in bytes; 0 means a share of the servers' storage.
	size int64
	// boxes has the open buckets by name.
	boxes sync.Map
	// sizing holds a token while a bucket gets its share of the servers' storage: the next one's depends
	// on it.
	sizing chan struct{}
}

// Objects returns the artifact store in the buckets NAME_POOL, limited to size bytes each. If size
// is 0, Prepare limits an unlimited bucket to a share of the servers' storage.
func (w *Wire) Objects(name string, size int64) (*Objects, error) {
	if !bucketName().MatchString(name) {
		return nil, fmt.Errorf("bucket %q: a name has letters, digits, _ and -", name)
	}
	return &Objects{wire: w, name: name, size: size, sizing: make(chan struct{}, 1)}, nil
}

var bucketName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`) })

// Name implements artifact.Backend.
func (o *Objects) Name() string { return "nats://" + o.name }

// bucket returns the name of a pool's bucket.
func (o *Objects) bucket(pool string) string {
	if !bucketName().MatchString(pool) {
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
		return opened.(*box), nil // still valid if the bucket was created again
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

// part returns the name of an object of an artifact.
func part(location string, i int64) string { return location + "/" + strconv.FormatInt(i, 10) }

// parts returns the number of objects of an artifact.
func parts(size int64) int64 { return max(1, (size+objectPart-1)/objectPart) }

// isAbsent reports whether an error means that an object does not exist, or is incomplete.
func isAbsent(err error) bool {
	return isAny(err, jetstream.ErrObjectNotFound, jetstream.ErrBucketNotFound, jetstream.ErrStreamNotFound)
}

// info returns the description of an object, if all of its pieces exist.
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

// Write implements artifact.Backend. It does not send existing parts again.
func (o *Objects) Write(ctx context.Context, location string, content *io.SectionReader) error {
	if !o.wire.conn.IsConnected() {
		return nats.ErrConnectionReconnecting
	}
	b, err := o.open(ctx, location)
	if err != nil {
		return err
	}
	if content.Size() > objectPart { // a smaller artifact fails soon if it does not fit
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
	// Without a deadline, pieceTime applies to each piece.
	bound, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(partTimeout, cancel)
	defer timer.Stop()
	_, err = b.objects.Put(bound, jetstream.ObjectMeta{Name: name,
		Metadata: map[string]string{sizeKey: strconv.FormatInt(size, 10)}}, content)
	if _, full := fullCode(err); !full {
		return err
	}
	// The description may have been stored though the pieces were not.
	_ = b.purge(ctx, nameSubject(name)) // if this fails, the object is incomplete
	return b.full(ctx, err)
}

// nameSubject returns the end of the subject of an object's description.
func nameSubject(name string) string { return "M." + base64.URLEncoding.EncodeToString([]byte(name)) }

// size returns an artifact's size, if all of it exists.
func (b *box) size(ctx context.Context, location string) (int64, error) {
	first, err := b.info(ctx, part(location, 0))
	if err != nil {
		return 0, err
	}
	size, err := strconv.ParseInt(first.Metadata[sizeKey], 10, 64)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("object %s does not say how large its artifact is", first.Name)
	}
	for i := range parts(size) - 1 {
		if _, err := b.info(ctx, part(location, i+1)); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// find returns the bucket and the size of an artifact.
func (o *Objects) find(ctx context.Context, location string) (b *box, size int64, err error) {
	b, err = o.open(ctx, location)
	if err == nil {
		size, err = b.size(ctx, location)
	}
	if isAbsent(err) {
		err = errors.Join(err, fs.ErrNotExist)
	}
	return b, size, err
}

// Size implements artifact.Backend.
func (o *Objects) Size(ctx context.Context, location string) (int64, error) {
	_, size, err := o.find(ctx, location)
	return size, err
}

// Read implements artifact.Backend.
func (o *Objects) Read(ctx context.Context, location string, from int64) (io.ReadCloser, error) {
	b, size, err := o.find(ctx, location) // a read would wait for a missing piece
	if err != nil {
		return nil, err
	}
	return &objectReader{ctx: ctx, box: b, location: location, next: from / objectPart, skip: from % objectPart,
		parts: parts(size)}, nil
}

// objectReader reads the parts of an artifact one after the other.
type objectReader struct {
	ctx         context.Context
	box         *box
	location    string
	next, parts int64
	skip        int64     // bytes of the first part to skip
	part        io.Reader // nil between two parts
}

// Read implements io.Reader.
func (r *objectReader) Read(p []byte) (int, error) {
	for {
		if r.part == nil {
			if r.next == r.parts {
				return 0, io.EOF
			}
			opened, err := r.box.pieces(r.ctx, part(r.location, r.next))
			if err != nil {
				return 0, err
			}
			r.part = opened
			r.next++
			if _, err := io.CopyN(io.Discard, opened, r.skip); err != nil {
				return 0, err
			}
			r.skip = 0
		}
		n, err := r.part.Read(p)
		if errors.Is(err, io.EOF) {
			r.part, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Close implements io.Closer.
func (r *objectReader) Close() error { return nil }

// pieceReader is a reader of an object, which asks for one piece after the other: a consumer would do so at once, but
// workers may make none.
type pieceReader struct {
	ctx     context.Context
	stream  jetstream.Stream
	subject string
	left    uint32 // pieces
	after   uint64 // sequence of the last one
	data    []byte
}

// pieces opens an object.
func (b *box) pieces(ctx context.Context, name string) (*pieceReader, error) {
	info, err := b.info(ctx, name)
	if err != nil {
		return nil, err
	}
	return &pieceReader{ctx: ctx, stream: b.stream, subject: "$O." + b.name + ".C." + info.NUID, left: info.Chunks}, nil
}

// Read implements io.Reader.
func (r *pieceReader) Read(p []byte) (int, error) {
	for len(r.data) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		ctx, cancel := context.WithTimeout(r.ctx, pieceTime)
		m, err := r.stream.GetMsg(ctx, r.after+1, jetstream.WithGetMsgSubject(r.subject))
		cancel()
		if err != nil {
			return 0, fmt.Errorf("a piece of an object: %w", err)
		}
		r.data, r.after = m.Data, m.Sequence
		r.left--
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// Remove implements artifact.Backend. It also removes the pieces of unfinished uploads.
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
		if err := b.delete(ctx, info); err != nil {
			return err
		}
	}
	return b.removeAbandoned(ctx, live)
}

// delete removes an object. The description goes first: pieces without one are found as abandoned.
func (b *box) delete(ctx context.Context, info *jetstream.ObjectInfo) error {
	for _, subject := range []string{nameSubject(info.Name), "C." + info.NUID} {
		if err := b.purge(ctx, subject); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements artifact.Backend. The first part goes last: it says how many there are.
func (o *Objects) Delete(ctx context.Context, location string) error {
	b, err := o.open(ctx, location)
	var first *jetstream.ObjectInfo
	if err == nil {
		first, err = b.info(ctx, part(location, 0))
	}
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	size, _ := strconv.ParseInt(first.Metadata[sizeKey], 10, 64) // 0 has one part
	for i := parts(size) - 1; i >= 0; i-- {
		info, err := b.info(ctx, part(location, i))
		if isAbsent(err) {
			continue
		}
		if err == nil {
			err = b.delete(ctx, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	return isAny(err, sweep.ErrStoreFull, nats.ErrPermissionViolation, nats.ErrMaxPayload, nats.ErrConnectionClosed)
}
