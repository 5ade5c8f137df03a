package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
)

// Version is the version of messages. It increases whenever older programs would misunderstand newer ones, which leave
// them to those who know them. Events of the version before are to be read from then on: workers may still report.
const Version = 5

// EventsStream is the stream of events; each pool has a stream of jobs.
const (
	EventsStream     = "SWEEP_EVENTS"
	jobsStreamPrefix = "SWEEP_JOBS_"
)

// jobsStream is the stream of a pool's jobs.
func jobsStream(pool string) string { return jobsStreamPrefix + pool }

// duplicateWindow is how long the server remembers message ids. Later repeats do no harm: the store
// ignores them. At thousands of trials a second the default of two minutes would cost memory.
const duplicateWindow = 10 * time.Second

// DefaultAckWait is how long after the last sign of life of its worker the server delivers a job
// again. Workers send one every third of it.
const DefaultAckWait = 30 * time.Second

// answerTimeout bounds the wait for the server's answer to one request: a starting server may never
// answer. Tests raise it.
var answerTimeout = 5 * time.Second

// headroom is the part of the server's max_payload for subject and headers, in bytes.
const headroom = 1024

// Options are the settings of a Wire; the zero value has the defaults.
type Options struct {
	// AckWait replaces DefaultAckWait for queues that OpenQueue creates. Workers learn
	// it from the coordinator.
	AckWait time.Duration
	// Replicas of streams that Setup creates; 1 if 0. Streams that exist keep theirs.
	Replicas int
	// JobsInMemory keeps jobs, and the state of the collector's consumer, off the disk: for a
	// server that ends with its coordinator, which publishes the jobs again.
	JobsInMemory bool
	// Domain is the JetStream domain of the streams; that of the connected server if empty.
	Domain string
	Logger *slog.Logger
}

// Wire is one party's end. It is safe for concurrent use.
type Wire struct {
	conn *nats.Conn
	js   jetstream.JetStream
	// api is the prefix of the subjects of requests to JetStream.
	api      string
	ackWait  time.Duration
	replicas int
	// jobStorage is where jobs are kept.
	jobStorage  jetstream.StorageType
	streamCheck time.Duration
	log         *slog.Logger
	// cluster is the argument of Setup.
	cluster atomic.Pointer[sweep.Cluster]
	// ackWaits has the AckWait of each known Queue; reported is that of the worker's queue.
	ackWaits  sync.Map
	reported  atomic.Int64
	malformed atomic.Int64
	newer     atomic.Int64 // when a newer message was last logged, in Unix nanoseconds
}

// New returns a Wire over a connection, which the caller keeps and closes.
func New(conn *nats.Conn, options Options) (*Wire, error) {
	api := jetstream.DefaultAPIPrefix
	if options.Domain != "" {
		if err := CheckToken("JetStream domain", options.Domain); err != nil {
			return nil, err
		}
		api = "$JS." + options.Domain + ".API."
	}
	js, err := jetstream.NewWithAPIPrefix(conn, api,
		jetstream.WithDefaultTimeout(pieceTime),
		jetstream.WithPublishAsyncMaxPending(4*publishPage),
		jetstream.WithPublishAsyncTimeout(longestStore))
	if err != nil {
		return nil, fmt.Errorf("JetStream: %w", err)
	}
	w := &Wire{conn: conn, js: js, api: api, ackWait: options.AckWait, replicas: max(options.Replicas, 1),
		streamCheck: streamCheck, log: options.Logger}
	if options.JobsInMemory {
		w.jobStorage = jetstream.MemoryStorage
	}
	if w.ackWait <= 0 {
		w.ackWait = DefaultAckWait
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	return w, nil
}

// obey returns what do returns, or the error of ctx when that ends before: while the client tries to connect
// again, its calls wait for a server that accepts connections and says nothing, whatever their context.
func obey[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := do()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Renewal is how often a worker renews its jobs: every third of the queue's AckWait, which the
// coordinator sends with each answer to a heartbeat. Before the first it is short.
func (w *Wire) Renewal() time.Duration {
	if reported := time.Duration(w.reported.Load()); reported > 0 {
		return reported / 3
	}
	return min(w.ackWait/3, time.Second)
}

// queueAckWait is the AckWait of the worker's queue, or this program's own setting until a coordinator has told it.
func (w *Wire) queueAckWait() time.Duration {
	return cmp.Or(time.Duration(w.reported.Load()), w.ackWait)
}

// Malformed returns how many messages could not be read.
func (w *Wire) Malformed() int64 { return w.malformed.Load() }

// The keys of a stream's metadata that name its cluster.
const (
	clusterKey  = "sweep_cluster"
	databaseKey = "sweep_database"
)

// OtherClusterError means that the streams belong to the cluster of another database.
type OtherClusterError struct {
	Servers string
	// Streams is the cluster of the streams, Database that of the coordinator's database.
	Streams, Database sweep.Cluster
}

// Error implements error.
func (e *OtherClusterError) Error() string {
	return fmt.Sprintf("the streams at %s belong to cluster %s of the database %s; this coordinator's database, %s, "+
		"is cluster %s: "+
		"start it with that database, or move the cluster to this one for good with --adopt",
		e.Servers, e.Streams.ID, e.Streams.Database, e.Database.Database, e.Database.ID)
}

// Setup creates the stream of events for a cluster, and updates the settings of existing streams;
// OpenQueue creates the streams of jobs. If streams belong to another cluster, it fails with an
// *OtherClusterError, unless adopt is set. Setup may be called again at any time.
func (w *Wire) Setup(ctx context.Context, cluster sweep.Cluster, adopt bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTimeout)
	defer cancel()
	streams, err := w.streams(ctx)
	if err != nil {
		return err
	}
	for _, s := range streams {
		has := sweep.Cluster{ID: s.Config.Metadata[clusterKey], Database: s.Config.Metadata[databaseKey]}
		if has.ID == "" || has.ID == cluster.ID {
			continue
		}
		if !adopt {
			return &OtherClusterError{w.conn.ConnectedUrlRedacted(), has, cluster}
		}
		if s.Config.Name == EventsStream { // the terms are those of the other database
			if err := w.removeCollectors(ctx, math.MaxInt64); err != nil {
				return err
			}
		}
	}
	w.cluster.Store(&cluster)
	for _, s := range streams {
		if pool, jobs := strings.CutPrefix(s.Config.Name, jobsStreamPrefix); jobs {
			if err := w.stream(ctx, w.jobsConfig(pool)); err != nil {
				return err
			}
		}
	}
	return w.stream(ctx, jetstream.StreamConfig{
		Name:        EventsStream,
		Description: "what workers report, until the collector has stored it",
		Subjects:    []string{eventsPrefix + ">"},
	})
}

// streams lists the streams of events and jobs.
func (w *Wire) streams(ctx context.Context) ([]*jetstream.StreamInfo, error) {
	var own []*jetstream.StreamInfo
	list := w.js.ListStreams(ctx)
	for info := range list.Info() {
		if name := info.Config.Name; name == EventsStream || strings.HasPrefix(name, jobsStreamPrefix) {
			own = append(own, info)
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("list of streams: %w", err)
	}
	return own, nil
}

// jobsConfig returns the settings of the stream of a pool's jobs.
func (w *Wire) jobsConfig(pool string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        jobsStream(pool),
		Description: "trials to run: one message a trial, gone when its result is stored",
		Subjects:    []string{jobsPrefix + pool + ".>"},
		// A second job of a trial is rejected, however late.
		MaxMsgsPerSubject:    1,
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		AllowDirect:          true,
		Storage:              w.jobStorage,
	}
}

// stream creates a stream or updates its settings.
func (w *Wire) stream(ctx context.Context, config jetstream.StreamConfig) error {
	config.Retention = jetstream.WorkQueuePolicy
	config.Replicas = w.replicas
	config.Duplicates = duplicateWindow
	for _, limit := range []*int64{&config.MaxMsgs, &config.MaxBytes, &config.MaxMsgsPerSubject} {
		*limit = cmp.Or(*limit, -1) // as the server writes no limit
	}
	config.MaxConsumers, config.MaxMsgSize = -1, -1
	config.Metadata = map[string]string{}
	if cluster := w.cluster.Load(); cluster != nil {
		config.Metadata[clusterKey], config.Metadata[databaseKey] = cluster.ID, cluster.Database
	}
	there, err := w.js.Stream(ctx, config.Name)
	switch {
	case err == nil:
		has := there.CachedInfo().Config
		config.Replicas = has.Replicas // an operator may have changed them
		config.Storage = has.Storage   // cannot be changed
		ours := config.Metadata
		config.Metadata = maps.Clone(has.Metadata) // includes the server's own
		maps.Copy(config.Metadata, ours)
		if reflect.DeepEqual(config, has) {
			return nil
		}
	case !errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("stream %s: %w", config.Name, err)
	}
	if _, err := w.js.CreateOrUpdateStream(ctx, config); err != nil {
		return fmt.Errorf("stream %s: %w", config.Name, err)
	}
	return nil
}

// IsLost reports whether an error means that a stream or consumer does not exist any more. Setup,
// OpenQueue and a new consumer restore it.
func IsLost(err error) bool {
	return isAny(err, jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDeleted,
		jetstream.ErrNoStreamResponse, jetstream.ErrConsumerDoesNotExist, nats.ErrNoResponders)
}

// isAny reports whether an error is one of several.
func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// TooLargeError means that a message about a trial is larger than the server's max_payload. Sending
// it again does not help.
type TooLargeError struct {
	sweep.TrialID
	// What the message is: "job", or the kind of the event.
	What        string
	Size, Limit int
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s of trial %s: a message of %d bytes, and the server takes %d (max_payload)", e.What,
		e.TrialID, e.Size, e.Limit)
}

// TooLarge splits an error into those of too large messages and the rest.
func TooLarge(err error) (large []*TooLargeError, rest error) {
	if joined := interface{ Unwrap() []error }(nil); errors.As(err, &joined) {
		var others []error
		for _, e := range joined.Unwrap() {
			found, other := TooLarge(e)
			large = append(large, found...)
			others = append(others, other)
		}
		return large, errors.Join(others...)
	}
	if e, ok := errors.AsType[*TooLargeError](err); ok {
		return []*TooLargeError{e}, nil
	}
	return nil, err
}

// limit returns the size of the largest body of a message, in bytes.
func (w *Wire) limit() int { return int(w.conn.MaxPayload()) - headroom }

// newerError means that this program does not know the version of a message.
type newerError struct {
	what           string
	version, known int
}

func (e *newerError) Error() string {
	return fmt.Sprintf("%s of version %d: this program reads version %d", e.what, e.version, e.known)
}

// newerDelay delays the redelivery of a message of a newer version, perhaps to a newer program.
const newerDelay = 30 * time.Second

// refuse answers a delivered message that cannot be read. One of a newer version is left for newer
// programs. Any other is counted, logged and removed: no program could read it, and the
// coordinator publishes a job again that is lost this way.
func (w *Wire) refuse(m *nats.Msg, problem error) {
	answer := answerTerminate + problem.Error()
	if _, newer := errors.AsType[*newerError](problem); newer {
		answer = later(newerDelay)
		now := time.Now().UnixNano()
		if logged := w.newer.Load(); now-logged > int64(time.Minute) && w.newer.CompareAndSwap(logged, now) {
			w.log.Warn("message left for a newer program", "subject", m.Subject, "problem", problem)
		}
	} else {
		w.malformed.Add(1)
		w.log.Error("message dropped: it cannot be read", "subject", m.Subject, "bytes", len(m.Data),
			"problem", problem)
	}
	if err := w.conn.Publish(m.Reply, []byte(answer)); err != nil {
		w.log.Error("message not answered", "subject", m.Subject, "error", err)
	}
}

// wrap adds a prefix to an error, if there is one.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// bounded calls request with a context that bounds the wait for the answer.
func bounded(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return request(ctx)
}

// pause waits for a time, or fails when ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// subscribe calls heard for each message of a subject, from one goroutine of the connection, until
// unsubscribe is called.
func (w *Wire) subscribe(what, subject string, heard nats.MsgHandler) (unsubscribe func(), err error) {
	s, err := w.conn.Subscribe(subject, heard)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", what, err)
	}
	return func() { _ = s.Unsubscribe() }, nil // fails only if the connection is closed
}
