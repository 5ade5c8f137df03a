package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
)

// Artifacts share the servers' storage with jobs and events, so their buckets are
// bounded: all of them together to half of it. A bucket gets half of what the earlier
// ones left of that, which is a quarter of the storage for the first pool.

// smallestBucket is the least that a bucket may have, in bytes.
const smallestBucket = 64 << 10

// FullError says that the servers' JetStream storage has no room for a message.
type FullError struct{ Err error }

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("the JetStream storage of the NATS servers is full: remove what it need not keep, or raise "+
		"its limit (max_file_store, or the account's) (%v)", e.Err)
}

// Unwrap returns the server's error.
func (e *FullError) Unwrap() error { return e.Err }

// fullCode returns the server's code for an error that says that there is no room.
func fullCode(err error) (code jetstream.ErrorCode, full bool) {
	text := ""
	if api := (*jetstream.APIError)(nil); errors.As(err, &api) {
		code, text = api.ErrorCode, api.Description
	} else if api := (*nats.APIError)(nil); errors.As(err, &api) {
		code, text = jetstream.ErrorCode(api.ErrorCode), api.Description
	}
	switch code {
	case errAccountFull, errServerFull, errMemoryFull, errStorageFull:
		return code, true
	case errNotStored:
		return code, text == "maximum bytes exceeded" || strings.Contains(text, "no space left on device")
	}
	return code, false
}

// The server's codes for a lack of room, and for a stream that it could not make.
const (
	errAccountFull jetstream.ErrorCode = 10002
	errNoPeers     jetstream.ErrorCode = 10005 // of a cluster, when no server has the room
	errServerFull  jetstream.ErrorCode = 10023
	errMemoryFull  jetstream.ErrorCode = 10028
	errStorageFull jetstream.ErrorCode = 10047
	errNotStored   jetstream.ErrorCode = 10077
	errNotMade     jetstream.ErrorCode = 10049 // of a stream whose files could not be made
	errStreamBytes jetstream.ErrorCode = 10122 // more than the account lets a stream have
)

// explainFull says in an error that the servers have no room, if that is what it says.
func explainFull(err error) error {
	if _, full := fullCode(err); full {
		return &FullError{err}
	}
	return err
}

// Prepare implements artifact.Backend. It makes a pool's bucket, and bounds one that
// has no bound, as earlier programs made it. Another bound than the size that is set
// is changed; if none is set it is the operator's, and stays.
func (o *Objects) Prepare(ctx context.Context, pool string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return wrap(o.prepare(ctx, o.bucket(pool)), "bucket %s", o.bucket(pool))
}

func (o *Objects) prepare(ctx context.Context, bucket string) error {
	stream, err := o.wire.js.Stream(ctx, streamPrefix+bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return o.create(ctx, bucket)
	}
	if err != nil {
		return err
	}
	config := stream.CachedInfo().Config
	has := config.MaxBytes
	switch {
	case o.size == 0 && has > 0, o.size > 0 && has == o.size:
		return nil
	case o.size > 0:
		config.MaxBytes = o.size
	default:
		if config.MaxBytes, err = o.share(ctx, config.Replicas); err != nil {
			return err
		}
	}
	// What is beyond the new bound stays: the stream refuses what is new.
	if _, err := o.wire.js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("give it %s: %w", sweep.SizeText(config.MaxBytes), err)
	}
	o.wire.log.Info("sized a pool's artifact store", "bucket", bucket, "size", sweep.SizeText(config.MaxBytes))
	return nil
}

func (o *Objects) create(ctx context.Context, bucket string) (err error) {
	size := o.size
	if size == 0 {
		if size, err = o.share(ctx, o.wire.replicas); err != nil {
			return err
		}
	}
	err = persistently(ctx, func() error {
		_, err := o.wire.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: bucket, Description: "artifacts of trials", Storage: jetstream.FileStorage,
			Replicas: o.wire.replicas, MaxBytes: size,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("make it with %s: %w", sweep.SizeText(size), err)
	}
	o.wire.log.Info("sized a pool's artifact store", "bucket", bucket, "size", sweep.SizeText(size))
	return nil
}

// streamPrefix begins the names of the streams of buckets.
const streamPrefix = "OBJ_"

// share is how many bytes one more bucket gets.
func (o *Objects) share(ctx context.Context, replicas int) (int64, error) {
	free, err := o.free(ctx, replicas)
	if err != nil {
		return 0, err
	}
	taken := int64(0)
	list := o.wire.js.ListStreams(ctx)
	for info := range list.Info() {
		if strings.HasPrefix(info.Config.Name, streamPrefix+o.name+"_") {
			taken += max(info.Config.MaxBytes, 0)
		}
	}
	if err := list.Err(); err != nil {
		return 0, fmt.Errorf("list of streams: %w", err)
	}
	return max(((free+taken)/2-taken)/2, smallestBucket), nil
}

// free is about how many bytes of storage no stream has reserved. A server says its
// limit to its operator alone, but refuses a stream that may have more than that: so
// streams are made that are removed at once, in halving steps and then finer ones.
func (o *Objects) free(ctx context.Context, replicas int) (int64, error) {
	const least, most = 16, 50 // as powers of two
	low, high := least, most
	for high-low > 1 {
		middle := (low + high) / 2
		fits, err := o.fits(ctx, 1<<middle, replicas)
		if err != nil {
			return 0, err
		}
		if fits {
			low = middle
		} else {
			high = middle
		}
	}
	size := int64(1) << low
	for _, step := range []int64{size / 2, size / 4, size / 8} {
		fits, err := o.fits(ctx, size+step, replicas)
		if err != nil {
			return 0, err
		}
		if fits {
			size += step
		}
	}
	return size, nil
}

// fits reports whether the servers have so much storage that no stream has reserved.
func (o *Objects) fits(ctx context.Context, size int64, replicas int) (bool, error) {
	name := streamPrefix + o.name + "~" // which is no pool's
	if err := o.wire.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, err // one that was left
	}
	err := persistently(ctx, func() error {
		_, err := o.wire.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Description: "tells how much room there is; removed at once",
			Subjects: []string{"$O." + o.name + "~.size"},
			Storage:  jetstream.FileStorage, Replicas: replicas, MaxBytes: size,
		})
		return err
	})
	if err == nil {
		return true, o.wire.js.DeleteStream(ctx, name)
	}
	if code, full := fullCode(err); full || code == errNoPeers || code == errStreamBytes {
		return false, nil
	}
	return false, err
}

// persistently makes a stream. With an account's last stream a server removes the
// account's folder, a little later, and a stream that is just being made there fails.
func persistently(ctx context.Context, create func() error) (err error) {
	const attempts = 10
	for range attempts {
		err = create()
		var failed *jetstream.APIError
		if !errors.As(err, &failed) || failed.ErrorCode != errNotMade {
			return err
		}
		select {
		case <-time.After(folderPause):
		case <-ctx.Done():
			return err
		}
	}
	return err
}

// folderPause is how long the removal of a folder may take.
const folderPause = 50 * time.Millisecond

// full says that a bucket has no room for an artifact, if that is what an error of the
// server says.
func (b *box) full(ctx context.Context, err error) error {
	code, full := fullCode(err)
	switch {
	case !full:
		return err
	case code != errNotStored:
		return fmt.Errorf("%w: %w", sweep.ErrStoreFull, explainFull(err))
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	info, infoErr := b.stream.Info(ctx)
	if infoErr != nil || info.Config.MaxBytes <= 0 {
		return fmt.Errorf("%w: %w", sweep.ErrStoreFull, err)
	}
	return b.noRoom(info)
}

func (b *box) noRoom(info *jetstream.StreamInfo) error {
	return fmt.Errorf("%w: bucket %s has %s, of which %s are taken: remove sweeps that are not needed (\"sweep "+
		"delete\"), or give it more (--artifacts \"nats://…?size=…\" of the coordinator)",
		sweep.ErrStoreFull, b.name, sweep.SizeText(info.Config.MaxBytes), sweep.SizeText(int64(info.State.Bytes)))
}

// hasRoom is an error if a bucket has no room for so many bytes more.
func (b *box) hasRoom(ctx context.Context, size int64) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	info, err := b.stream.Info(ctx)
	if err != nil {
		return err
	}
	if most := info.Config.MaxBytes; most > 0 && int64(info.State.Bytes)+size > most {
		return b.noRoom(info)
	}
	return nil
}
