package wire

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
)

// Artifacts share the servers' storage with jobs and events, so all buckets together are limited to
// half of it. A bucket gets half of what the earlier ones left of that: the first pool gets a
// quarter of the storage.

// smallestBucket is the smallest size of a bucket, in bytes.
const smallestBucket = 64 << 10

// FullError means that the servers' JetStream storage has no room for a message.
type FullError struct{ Err error }

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("the JetStream storage of the NATS servers is full: remove what it need not keep, or raise "+
		"its limit (max_file_store, or the account's) (%v)", e.Err)
}

// Unwrap returns the server's error.
func (e *FullError) Unwrap() error { return e.Err }

// noSpace is in the server's error if its disk, not its storage's limit, is reached.
const noSpace = "no space left on device"

// fullCode returns the server's code for an error, and whether it means a lack of room.
func fullCode(err error) (code jetstream.ErrorCode, full bool) {
	text := ""
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		code, text = api.ErrorCode, api.Description
	} else if api, ok := errors.AsType[*nats.APIError](err); ok {
		code, text = jetstream.ErrorCode(api.ErrorCode), api.Description
	}
	switch code {
	case errAccountFull, errServerFull, errMemoryFull, errStorageFull:
		return code, true
	case errNotStored:
		return code, text == "maximum bytes exceeded" || strings.Contains(text, noSpace)
	}
	return code, false
}

// The server's codes for a lack of room.
const (
	errAccountFull jetstream.ErrorCode = 10002
	errNoPeers     jetstream.ErrorCode = 10005 // of a cluster, when no server has the room
	errServerFull  jetstream.ErrorCode = 10023
	errMemoryFull  jetstream.ErrorCode = 10028
	errStorageFull jetstream.ErrorCode = 10047
	errNotStored   jetstream.ErrorCode = 10077
	errStreamBytes jetstream.ErrorCode = 10122 // more than the account allows a stream
)

// explainFull returns a *FullError for an error that means a lack of room, else the error.
func explainFull(err error) error {
	if _, full := fullCode(err); full {
		return &FullError{err}
	}
	return err
}

// Prepare implements artifact.Backend. It creates a pool's bucket, or sets the limit of an existing
// one to the size of the Objects. Without such a size it keeps the limit, which an operator may
// have set, and adds one to a bucket that has none. It sends up to 30 requests, and
// fails as soon as one is not answered. It must follow Setup: with an account's last stream the server
// removes its folder, soon after; a stream that it cannot create in between it counts as storage that
// is free.
func (o *Objects) Prepare(ctx context.Context, pool string) error {
	return wrap(o.prepare(ctx, o.bucket(pool)), "bucket %s", o.bucket(pool))
}

func (o *Objects) prepare(ctx context.Context, bucket string) error {
	if o.size == 0 {
		select {
		case o.sizing <- struct{}{}:
			defer func() { <-o.sizing }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var stream jetstream.Stream
	err := bounded(ctx, func(ctx context.Context) (err error) {
		stream, err = o.wire.js.Stream(ctx, streamPrefix+bucket)
		return err
	})
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
	// Artifacts beyond the new limit are kept: the stream rejects new ones.
	err = bounded(ctx, func(ctx context.Context) error {
		_, err := o.wire.js.UpdateStream(ctx, config)
		return err
	})
	if err != nil {
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
	err = bounded(ctx, func(ctx context.Context) error {
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

// streamPrefix is the prefix of the names of the streams of buckets.
const streamPrefix = "OBJ_"

// share returns how many bytes one more bucket gets.
func (o *Objects) share(ctx context.Context, replicas int) (int64, error) {
	free, err := o.free(ctx, replicas)
	if err != nil {
		return 0, err
	}
	taken := int64(0)
	err = bounded(ctx, func(ctx context.Context) error {
		list := o.wire.js.ListStreams(ctx)
		for info := range list.Info() {
			if strings.HasPrefix(info.Config.Name, streamPrefix+o.name+"_") {
				taken += max(info.Config.MaxBytes, 0)
			}
		}
		return wrap(list.Err(), "list of streams")
	})
	if err != nil {
		return 0, err
	}
	return max(((free+taken)/2-taken)/2, smallestBucket), nil
}

// free returns about how many bytes of storage no stream has reserved. A server tells only its
// operator its limit, but rejects a stream that may exceed it: so streams are created and removed
// at once, in halving steps and then finer ones.
func (o *Objects) free(ctx context.Context, replicas int) (size int64, err error) {
	fits := func(size int64) (fits bool) {
		if err == nil {
			fits, err = o.fits(ctx, size, replicas)
		}
		return fits
	}
	const least, most = 16, 50 // as powers of two
	size = 1 << (least + sort.Search(most-1-least, func(i int) bool { return !fits(1 << (least + 1 + i)) }))
	for _, step := range []int64{size / 2, size / 4, size / 8} {
		if fits(size + step) {
			size += step
		}
	}
	return size, err
}

// fits reports whether the servers have size bytes of storage that no stream has reserved.
func (o *Objects) fits(ctx context.Context, size int64, replicas int) (bool, error) {
	name := streamPrefix + o.name + "~" // not a pool's bucket
	remove := func(ctx context.Context) error { return o.wire.js.DeleteStream(ctx, name) }
	if err := bounded(ctx, remove); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, err // it was left by an interrupted attempt
	}
	err := bounded(ctx, func(ctx context.Context) error {
		_, err := o.wire.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Description: "tells how much room there is; removed at once",
			Subjects: []string{"$O." + o.name + "~.size"},
			Storage:  jetstream.FileStorage, Replicas: replicas, MaxBytes: size,
		})
		return err
	})
	if err == nil {
		return true, bounded(ctx, remove)
	}
	if code, full := fullCode(err); full || code == errNoPeers || code == errStreamBytes {
		return false, nil
	}
	return false, err
}

// full returns a sweep.ErrStoreFull for a server's error that means a lack of room, else the error.
func (b *box) full(ctx context.Context, err error) error {
	code, full := fullCode(err)
	switch {
	case !full:
		return err
	case code != errNotStored:
		return fmt.Errorf("%w: %w", sweep.ErrStoreFull, explainFull(err))
	}
	info, infoErr := b.state(ctx)
	if infoErr != nil || info.Config.MaxBytes <= 0 {
		return fmt.Errorf("%w: %w", sweep.ErrStoreFull, err)
	}
	return b.noRoom(info)
}

func (b *box) state(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return b.stream.Info(ctx)
}

func (b *box) noRoom(info *jetstream.StreamInfo) error {
	return fmt.Errorf("%w: bucket %s has %s, of which %s are taken: remove sweeps that are not needed (\"sweep "+
		"delete\"), or give it more (--artifacts \"nats://…?size=…\" of the coordinator)",
		sweep.ErrStoreFull, b.name, sweep.SizeText(info.Config.MaxBytes), sweep.SizeText(int64(info.State.Bytes)))
}

// hasRoom returns an error if a bucket has no room for size more bytes.
func (b *box) hasRoom(ctx context.Context, size int64) error {
	info, err := b.state(ctx)
	if err != nil {
		return err
	}
	if most := info.Config.MaxBytes; most > 0 && int64(info.State.Bytes)+size > most {
		return b.noRoom(info)
	}
	return nil
}
