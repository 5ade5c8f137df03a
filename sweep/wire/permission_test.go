package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/wire"
)

// roles are those of deploy/nats/users.conf, with the inbox that their programs
// use.
var roles = map[string]string{
	"COORDINATOR": wire.CoordinatorInbox, "WORKER_CPU": wire.WorkerInbox("cpu"), "WORKER_GPU": wire.WorkerInbox("gpu"),
	"OPERATOR": wire.ClientInbox, "SUBMITTER": wire.ClientInbox, "OBSERVER": wire.ClientInbox,
}

// shared is a server with the users of deploy/nats/users.conf.
type shared struct {
	t       *testing.T
	address string
	seeds   map[string]string // files
}

func startShared(t *testing.T) *shared {
	t.Helper()
	s := &shared{t: t, seeds: map[string]string{}}
	dir := t.TempDir()
	for role := range roles {
		pair, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := pair.Seed()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("SWEEP_NKEY_"+role, public)
		s.seeds[role] = writeFile(t, filepath.Join(dir, role+".nk"), string(seed))
	}
	options, err := server.ProcessConfigFile("../../deploy/nats/users.conf")
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port, options.JetStream, options.StoreDir = "127.0.0.1", -1, true, t.TempDir()
	s.address = run(t, options)
	return s
}

// run starts a server, which the test's end stops, and returns its address.
func run(t *testing.T, options *server.Options) string {
	t.Helper()
	options.NoSigs, options.NoLog = true, true
	options.AuthTimeout, options.TLSTimeout = patience.Seconds(), patience.Seconds()
	running, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	running.Start()
	t.Cleanup(func() {
		running.Shutdown()
		running.WaitForShutdown()
	})
	if !running.ReadyForConnections(patience) {
		t.Fatal("NATS server: not ready")
	}
	return running.ClientURL()
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// as connects in a role, as its programs do.
func (s *shared) as(role string) *nats.Conn {
	s.t.Helper()
	conn, err := wire.Dial(s.t.Context(), wire.Access{Addresses: s.address, NKey: s.seeds[role], Inbox: roles[role]},
		"test")
	if err != nil {
		s.t.Fatalf("%s: %v", role, err)
	}
	s.t.Cleanup(conn.Close)
	return conn
}

// refusals notes what the server refuses a connection.
type refusals struct {
	conn *nats.Conn
	lock sync.Mutex
	said []string
}

func listen(conn *nats.Conn) *refusals {
	r := &refusals{conn: conn}
	conn.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		r.lock.Lock()
		defer r.lock.Unlock()
		r.said = append(r.said, err.Error())
	})
	return r
}

// of returns what the server said to what do did.
func (r *refusals) of(t *testing.T, do func() error) string {
	t.Helper()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	// The server answers in order: what it refused it has said before, and it is told in order too.
	if err := r.conn.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	told := make(chan struct{})
	s, err := r.conn.Subscribe("denied."+nats.NewInbox(), func(*nats.Msg) {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Unsubscribe() }()
	go func() {
		for {
			r.lock.Lock()
			n := len(r.said)
			r.lock.Unlock()
			if n > 0 && strings.Contains(r.last(), s.Subject) {
				close(told)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	select {
	case <-told:
	case <-time.After(patience):
		t.Fatal("the server does not refuse what no role includes")
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	said := strings.Join(r.said[:len(r.said)-1], "; ")
	r.said = nil
	return said
}

func (r *refusals) last() string {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.said[len(r.said)-1]
}

// setUp makes, as the coordinator, the streams, the queues of two pools, and a job
// in each.
func (s *shared) setUp(ctx context.Context, conn *nats.Conn, w *wire.Wire) jetstream.JetStream {
	s.t.Helper()
	if err := w.Setup(ctx, sweep.Cluster{ID: "c"}, false); err != nil {
		s.t.Fatal(err)
	}
	for _, pool := range []string{"cpu", "gpu"} {
		q := wire.Queue{Pool: pool, Offer: "offer"}
		if err := w.OpenQueue(ctx, q); err != nil {
			s.t.Fatal(err)
		}
		if _, err := w.PublishJobs(ctx, q, []wire.Job{{
			Trial: sweep.Trial{TrialID: sweep.TrialID{Sweep: pool}}, Pool: pool,
			Requirement: sweep.Requirement{Trainer: "noop"},
		}}); err != nil {
			s.t.Fatal(err)
		}
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		s.t.Fatal(err)
	}
	return js
}

// presence is a worker that can be asked.
type presence struct{ drained chan string }

func (p presence) Status() wire.WorkerStatus {
	return wire.WorkerStatus{ID: "id1", Name: "host-1", Pool: "cpu", State: wire.WorkerReady}
}
func (p presence) Drain(reason string) { p.drained <- reason }
func (p presence) Resume()             {}
func (p presence) Log(id sweep.TrialID, from int64) *wire.RunningLog {
	if id.Index != 7 {
		return nil
	}
	return &wire.RunningLog{Worker: "id1", Log: sweep.Log{Text: "epoch 1", Start: from}}
}

// TestRoles: in the roles of deploy/nats the programs do what they are for, and
// nothing else.
func TestRoles(t *testing.T) {
	s, all := startShared(t), t
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	coordinator := s.as("COORDINATOR")
	b := &backend{rows: fewer(3000)} // more than one part
	w, err := wire.New(coordinator, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	service, err := w.ServeControl(b, b, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	js := s.setUp(ctx, coordinator, w)
	stopHeartbeats, err := w.ServeHeartbeats(func(b wire.Heartbeat) *wire.HeartbeatAnswer {
		return &wire.HeartbeatAnswer{Stop: []wire.Running{{TrialID: sweep.TrialID{Sweep: b.ID}}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stopHeartbeats)
	if err := coordinator.FlushTimeout(patience); err != nil { // the server knows who answers
		t.Fatal(err)
	}

	worker := s.as("WORKER_CPU")
	heard := make(chan string, 1)
	t.Run("WorkerWorks", func(t *testing.T) {
		ww, err := wire.New(worker, wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := ww.Jobs(wire.Queue{Pool: "cpu", Offer: "offer"})
		if err != nil {
			t.Fatal(err)
		}
		defer jobs.Close()
		if err := jobs.Request(1); err != nil {
			t.Fatal(err)
		}
		job, err := take(ctx, jobs)
		if err != nil || job == nil || job.Sweep != "cpu" {
			t.Fatalf("%+v %v", job, err)
		}
		answer, err := ww.SendHeartbeat(ctx, wire.Heartbeat{WorkerStatus: wire.WorkerStatus{ID: "id1", Pool: "cpu"}})
		if err != nil || len(answer.Stop) != 1 || answer.Stop[0].Sweep != "id1" {
			t.Errorf("%+v %v", answer, err)
		}
		if err := ww.Publish(ctx, "cpu", "id1", sweep.Event{Kind: sweep.EventStarted, TrialID: job.TrialID,
			Execution: "e", Worker: "id1", Time: time.Now()}); err != nil {
			t.Error(err)
		}
		if err := job.DoubleAck(ctx); err != nil {
			t.Errorf("acknowledge: %v", err)
		}
		unsubscribe, err := ww.Cancellations(func(id string, _ []int64, _ map[int64]wire.Halt) { heard <- id })
		if err != nil {
			t.Fatal(err)
		}
		all.Cleanup(unsubscribe)
		called := make(chan struct{}, 1)
		uncall, err := ww.HeartbeatRequests(func() { called <- struct{}{} })
		if err != nil {
			t.Fatal(err)
		}
		defer uncall()
		if err := worker.FlushTimeout(patience); err != nil {
			t.Fatal(err)
		}
		if err := w.Cancel("s1"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-heard:
		case <-ctx.Done():
			t.Error("the cancellation is not heard")
		}
	})
	t.Run("WorkerKeepsArtifacts", func(t *testing.T) {
		objects := openObjects(t, w, "cpu")
		openObjects(t, w, "gpu")
		ww, err := wire.New(worker, wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		own, err := ww.Objects(wire.DefaultBucket, 0)
		if err != nil {
			t.Fatal(err)
		}
		content := artifacttest.Content(1, 5<<20)
		record := artifacttest.Record(sweep.TrialID{Sweep: "s"}, content)
		for range 2 {
			if err := artifact.New(own, nil).Put(ctx, record.Location, bytes.NewReader(content),
				record.Size); err != nil {
				t.Fatal(err)
			}
		}
		for reader, objects := range map[string]*wire.Objects{"coordinator": objects, "worker": own} {
			if err := artifact.New(objects, nil).Check(ctx, record, true); err != nil {
				t.Errorf("%s: %v", reader, err)
			}
		}
	})
	p := presence{make(chan string, 1)}
	ww, err := wire.New(worker, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stopPresence, err := ww.ServePresence(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stopPresence)

	reads := map[string]func(c *wire.Client) error{
		"sweep":    func(c *wire.Client) error { _, err := c.Sweep(ctx, "s"); return err },
		"sweeps":   func(c *wire.Client) error { _, err := c.Sweeps(ctx); return err },
		"progress": func(c *wire.Client) error { _, err := c.Progress(ctx, "s"); return err },
		"trial":    func(c *wire.Client) error { _, err := c.Trial(ctx, sweep.TrialID{Sweep: "s"}); return err },
		"curves":   func(c *wire.Client) error { _, err := c.Curves(ctx, sweep.TrialID{Sweep: "s"}); return err },
		"trials": func(c *wire.Client) error {
			return c.Trials(ctx, sweep.TrialQuery{}, func(*sweep.TrialRecord) error { return nil })
		},
		"sql": func(c *wire.Client) error {
			return c.Query(ctx, "SELECT 1", func([]string, []any) error { return nil })
		},
		"workers": func(c *wire.Client) error {
			workers, err := c.Workers(ctx)
			if err == nil && len(workers) != 1 {
				err = fmt.Errorf("%d workers", len(workers))
			}
			return err
		},
	}
	reads["log of a running trial"] = func(c *wire.Client) error {
		for _, worker := range []string{"", "id1"} {
			log, err := c.RunningLog(ctx, worker, sweep.TrialID{Sweep: "s", Index: 7}, 3)
			if err == nil && (log == nil || log.Text != "epoch 1" || log.Start != 3) {
				err = fmt.Errorf("the log %+v", log)
			}
			if err != nil {
				return err
			}
			log, err = c.WithAnswers(2*time.Second).RunningLog(ctx, worker, sweep.TrialID{Sweep: "s", Index: 8}, 3)
			if err != nil || log != nil {
				return fmt.Errorf("the log of a trial that does not run: %+v, %w", log, err)
			}
		}
		return nil
	}
	reads["executions"] = func(c *wire.Client) error {
		_, err := c.Executions(ctx, sweep.TrialID{Sweep: "s"})
		return err
	}
	reads["log"] = func(c *wire.Client) error {
		_, err := c.ExecutionLog(ctx, sweep.TrialID{Sweep: "s"}, "")
		return err
	}
	reads["inputs"] = func(c *wire.Client) error {
		return c.Inputs(ctx, sweep.InputQuery{Sweep: "s"}, func(*sweep.InputList) error { return nil })
	}
	reads["artifacts"] = func(c *wire.Client) error {
		return c.CheckArtifacts(ctx, sweep.ArtifactQuery{Sweep: "s"}, sweep.CheckSize,
			func(*sweep.CheckedArtifact) error { return nil })
	}
	reads["artifact"] = func(c *wire.Client) error {
		_, err := c.Artifact(ctx, sweep.TrialID{Sweep: "s"}, "weights", 0, io.Discard)
		return err
	}
	asked := map[string]func(c *wire.Client) error{}
	for _, c := range changes(ctx) {
		asked[c.name] = c.ask
	}
	drain := func(c *wire.Client) error { _, err := c.DrainWorker(ctx, "host-1", "repair"); return err }
	try := func(t *testing.T, role string, operations map[string]func(c *wire.Client) error, allowed bool) {
		t.Helper()
		c := wire.NewClient(s.as(role)).WithAnswers(patience)
		for name, do := range operations {
			err := do(c)
			var refused *wire.PermissionError // what is given up in the end has another error
			if allowed && err != nil || !allowed && !errors.As(err, &refused) {
				t.Errorf("%s: %s: %v", role, name, err)
			}
		}
	}
	for role, may := range map[string]struct{ read, change, drain bool }{
		"OPERATOR": {true, true, true}, "SUBMITTER": {true, true, false}, "OBSERVER": {true, false, false},
		"WORKER_CPU": {false, false, false}, "WORKER_GPU": {false, false, false},
	} {
		t.Run(role, func(t *testing.T) {
			try(t, role, reads, may.read)
			try(t, role, asked, may.change)
			try(t, role, map[string]func(c *wire.Client) error{"drain": drain}, may.drain)
		})
	}
	if reason := <-p.drained; reason != "repair" || len(p.drained) > 0 {
		t.Errorf("drained for %q", reason)
	}

	// What the programs never do, but who holds their keys might.
	const nextJob = `{"batch": 1, "no_wait": true}`
	for role, subjects := range map[string][]string{
		"WORKER_CPU": {
			"sweep.control.submit", "sweep.control.sql", "sweep.work.cpu.offer.s2.0", "sweep.work.gpu.offer.s2.0",
			"sweep.cancel.s1",
			"sweep.workers.status", "sweep.workers.drain.id1", "sweep.events.gpu.s1.0.result", "sweep.beat.gpu.id1",
			"sweep.workers.beat", "$JS.API.CONSUMER.MSG.NEXT.SWEEP_JOBS_gpu.offer",
			"$JS.ACK.SWEEP_JOBS_gpu.offer.1.1.1.1.1", "$JS.ACK.SWEEP_EVENTS.collector.1.1.1.1.1",
			"$JS.API.CONSUMER.CREATE.SWEEP_JOBS_cpu", "$JS.API.CONSUMER.DURABLE.CREATE.SWEEP_JOBS_cpu.mine",
			"$JS.API.CONSUMER.DELETE.SWEEP_JOBS_cpu.offer",
			"$JS.API.STREAM.DELETE.SWEEP_JOBS_cpu", "$JS.API.STREAM.PURGE.SWEEP_JOBS_cpu",
			"$JS.API.STREAM.MSG.GET.SWEEP_JOBS_cpu",
			"$JS.API.STREAM.MSG.DELETE.SWEEP_EVENTS", "$JS.API.DIRECT.GET.SWEEP_JOBS_cpu",
			"$JS.API.STREAM.UPDATE.SWEEP_EVENTS", "$JS.API.STREAM.NAMES",
			"$JS.API.CONSUMER.MSG.NEXT.SWEEP_EVENTS.collector", "_INBOX.client.x", "_INBOX.coordinator.x",
			"$O.SWEEP_ARTIFACTS_gpu.C.x", "$O.SWEEP_ARTIFACTS_gpu.M.x", "$JS.API.STREAM.PURGE.OBJ_SWEEP_ARTIFACTS_gpu",
			"$JS.API.STREAM.CREATE.OBJ_SWEEP_ARTIFACTS_cpu",
			"$JS.API.STREAM.DELETE.OBJ_SWEEP_ARTIFACTS_cpu", "sweep.workers.log", "sweep.control.artifact",
		},
		"SUBMITTER": {
			"$JS.API.CONSUMER.MSG.NEXT.SWEEP_JOBS_cpu.offer", "$JS.ACK.SWEEP_JOBS_cpu.offer.1.1.1.1.1",
			"sweep.events.cpu.s1.0.result",
			"sweep.work.cpu.offer.s2.0", "sweep.beat.cpu.id1", "sweep.cancel.s1", "sweep.workers.drain.id1",
			"$JS.API.STREAM.NAMES",
			"$JS.API.CONSUMER.CREATE.SWEEP_EVENTS", "$JS.API.STREAM.MSG.GET.SWEEP_EVENTS", "_INBOX.worker.cpu.x",
			"_INBOX.coordinator.x", "_INBOX.client.x",
		},
		"OBSERVER": {
			"sweep.control.cancel_trials", "sweep.control.retry_trials", "$O.SWEEP_ARTIFACTS_cpu.C.x",
			"sweep.control.submit", "sweep.control.pause", "sweep.control.anything",
			"$JS.API.CONSUMER.MSG.NEXT.SWEEP_JOBS_cpu.offer",
			"sweep.events.cpu.s1.0.result", "sweep.work.cpu.offer.s2.0", "sweep.workers.drain.id1",
			"sweep.workers.resume.id1", "$JS.API.STREAM.NAMES",
			"_INBOX.coordinator.x",
		},
	} {
		t.Run(role+"MayNot", func(t *testing.T) {
			conn := s.as(role)
			r := listen(conn)
			for _, subject := range subjects {
				said := r.of(t, func() error {
					return conn.PublishRequest(subject, roles[role]+".reply",
						[]byte(nextJob))
				})
				if !strings.Contains(strings.ToLower(said), strings.ToLower(fmt.Sprintf("Publish to %q", subject))) {
					t.Errorf("publish to %s: the server says %q", subject, said)
				}
			}
			hear := []string{">", "_INBOX.>", "_INBOX.coordinator.>", "sweep.>", "sweep.control.*", "sweep.events.>",
				"sweep.work.>", "sweep.beat.>", "$JS.API.>", "$JS.>"}
			for _, inbox := range roles {
				if inbox != roles[role] {
					hear = append(hear, inbox+".>")
				}
			}
			for _, subject := range hear {
				said := r.of(t, func() error {
					sub, err := conn.SubscribeSync(subject)
					if err == nil {
						defer func() { _ = sub.Unsubscribe() }()
					}
					return err
				})
				if !strings.Contains(strings.ToLower(said),
					strings.ToLower(fmt.Sprintf("Subscription to %q", subject))) {
					t.Errorf("subscribe to %s: the server says %q", subject, said)
				}
			}
		})
	}

	// Nor does anybody do it for them: who answers a request answers into an inbox. Newer servers refuse some of these
	// requests themselves.
	t.Run("AnswersGoToInboxes", func(t *testing.T) {
		submitter := s.as("SUBMITTER")
		refused := map[*nats.Conn]*refusals{submitter: listen(submitter), worker: listen(worker)}
		dropped := func(conn *nats.Conn, m *nats.Msg) {
			t.Helper()
			before := w.Malformed() + ww.Malformed()
			if said := refused[conn].of(t, func() error { return conn.PublishMsg(m) }); strings.Contains(
				strings.ToLower(said), strings.ToLower(fmt.Sprintf("Reply of %q", m.Reply))) {
				return
			}
			eventually(t, fmt.Sprintf("%s with its answer to %s is dropped", m.Subject, m.Reply), func() bool {
				return w.Malformed()+ww.Malformed() > before
			})
		}
		for _, subject := range []string{"sweep.control.sql", "sweep.control.nothing", "sweep.workers.status"} {
			for _, reply := range []string{
				"$JS.API.STREAM.PURGE.SWEEP_JOBS_gpu", "$JS.API.STREAM.DELETE.SWEEP_EVENTS",
				"sweep.work.gpu.offer.s9.0", "sweep.events.gpu.s9.0.result",
				"sweep.cancel.s9", "_INBOX.worker.cpu.x", "_INBOX.coordinator.x",
			} {
				m := nats.NewMsg(subject)
				m.Reply, m.Data = reply, []byte(`{"version": 1, "sql": "SELECT 1"}`)
				m.Header.Set("Sweep-Version", fmt.Sprint(wire.ControlVersion))
				dropped(submitter, m)
			}
		}
		for _, reply := range []string{"$JS.API.STREAM.PURGE.SWEEP_JOBS_gpu", "sweep.cancel.s9", "_INBOX.client.x",
			"_INBOX.coordinator.x"} {
			m := nats.NewMsg("sweep.beat.cpu.id1")
			m.Reply, m.Data = reply, []byte(`{"version": 2, "id": "id1", "pool": "cpu"}`)
			dropped(worker, m)
		}
		if len(heard) > 0 {
			t.Errorf("a cancellation was heard: %s", <-heard)
		}
	})

	// Nothing came of it all.
	for stream, want := range map[string]uint64{"SWEEP_JOBS_cpu": 0, "SWEEP_JOBS_gpu": 1, "SWEEP_EVENTS": 1} {
		there, err := js.Stream(ctx, stream)
		if err != nil {
			t.Fatal(err)
		}
		if n := there.CachedInfo().State.Msgs; n != want {
			t.Errorf("%s has %d messages, want %d", stream, n, want)
		}
	}
}

// TestRefusedAtOnce: who is not let in hears so at once and why, a daemon too,
// also one whose servers were away first.
func TestRefusedAtOnce(t *testing.T) {
	s := startShared(t)
	stranger, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := stranger.Seed()
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, filepath.Join(t.TempDir(), "stranger.nk"), string(seed))
	host := strings.TrimPrefix(s.address, "nats://")
	for name, access := range map[string]wire.Access{
		"nobody":         {Addresses: s.address},
		"another key":    {Addresses: s.address, NKey: file},
		"wrong password": {Addresses: "nats://lisa:secret@" + host},
		"wrong token":    {Addresses: "nats://secret@" + host},
	} {
		var refused *wire.AuthorizationError
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if _, err := wire.Dial(ctx, access, "test"); !errors.As(err, &refused) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		conn, err := wire.Connect(access, "test", slog.New(slog.DiscardHandler))
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "Authorization Violation") {
			t.Errorf("%s: a daemon: %v", name, err)
		}
		if err == nil {
			conn.Close()
		}
	}

	// The server comes later.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	log := &lines{}
	conn, err := wire.Connect(wire.Access{Addresses: "nats://" + address.String(), NKey: file}, "test",
		slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	options, err := server.ProcessConfigFile("../../deploy/nats/users.conf")
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port, options.JetStream, options.StoreDir = "127.0.0.1", address.Port, true, t.TempDir()
	run(t, options)
	log.await(t, "level=ERROR", "refuses this user")
	if conn.IsClosed() {
		t.Error("it has given up")
	}
}

// hello is the first word of a server without users, tlsHello that of one that wants TLS.
const (
	hello    = `INFO {"server_id":"x","version":"2.12.0","proto":1,"headers":true,"max_payload":1048576}` + "\r\n"
	tlsHello = `INFO {"server_id":"x","version":"2.12.0","proto":1,"max_payload":1048576,"tls_required":true}` + "\r\n"
)

// answers starts a server that greets its connections and answers their first PINGs with the texts, one
// each, and returns its address.
func answers(t *testing.T, greeting string, texts ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close() // the test is over
		serving.Wait()
	})
	serving.Go(func() {
		for _, text := range texts {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, err = io.WriteString(conn, greeting)
			for lines := bufio.NewReader(conn); err == nil; {
				var line string
				if line, err = lines.ReadString('\n'); strings.HasPrefix(line, "PING") {
					_, err = io.WriteString(conn, text)
				}
			}
			_ = conn.Close() // the client has gone
		}
	})
	return "nats://" + listener.Addr().String()
}

// A client tries again if a server gave it up because it was slow.
func TestDialOfASlowClient(t *testing.T) {
	const late, rejected = "-ERR 'Authentication Timeout'\r\n", "-ERR 'Authorization Violation'\r\n"
	eventually(t, "a client hears the answer to its second attempt", func() bool {
		var refused *wire.AuthorizationError
		_, err := wire.Dial(t.Context(), wire.Access{Addresses: answers(t, hello, late, rejected)}, "test")
		return errors.As(err, &refused)
	})
}

// A TLS handshake that takes too long is no refusal: a daemon goes on.
func TestSlowTLSIsNoRefusal(t *testing.T) {
	wire.SetHandshakeTime(t, 100*time.Millisecond)
	access := wire.Access{Addresses: answers(t, tlsHello, make([]string, 1000)...)}
	var refused *wire.AuthorizationError
	if _, err := wire.Dial(t.Context(), access, "test"); err == nil || errors.As(err, &refused) {
		t.Errorf("a client: %v", err)
	}
	conn, err := wire.Connect(access, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("a daemon: %v", err)
	}
	conn.Close()
}

// TestPermissionIsLogged: what a daemon's role does not include is an error in
// its log, once.
func TestPermissionIsLogged(t *testing.T) {
	s := startShared(t)
	log := &lines{}
	conn, err := wire.Connect(wire.Access{Addresses: s.address, NKey: s.seeds["WORKER_CPU"],
		Inbox: wire.WorkerInbox("cpu")}, "test",
		slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 3 {
		if err := conn.Publish("sweep.events.gpu.s1.0.result", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Publish("sweep.events.gpu.s2.0.result", nil); err != nil {
		t.Fatal(err)
	}
	log.await(t, "level=ERROR", "sweep.events.gpu.s2.0.result")
	if n := strings.Count(log.String(), "events.gpu.s1"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log)
	}
}

// lines is a log that can be waited for.
type lines struct {
	lock sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.String()
}

// await waits for a line with all the words.
func (l *lines) await(t *testing.T, words ...string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		for line := range strings.Lines(l.String()) {
			found := true
			for _, word := range words {
				found = found && strings.Contains(line, word)
			}
			if found {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no line has %q:\n%s", words, l)
		}
	}
}

// TestAccessThatCannotBeRead: errors name the file, and what was expected in it.
func TestAccessThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	text := writeFile(t, filepath.Join(dir, "text"), "some text")
	missing := filepath.Join(dir, "missing")
	const address = "nats://127.0.0.1:1"
	for want, access := range map[string]wire.Access{
		"--nats-creds: open " + missing:                          {Addresses: address, Credentials: missing},
		"--nats-creds: " + text + " holds no user's JWT":         {Addresses: address, Credentials: text},
		"--nats-nkey: open " + missing:                           {Addresses: address, NKey: missing},
		"--nats-nkey: " + text + " holds no user's seed":         {Addresses: address, NKey: text},
		"--nats-creds and --nats-nkey":                           {Addresses: address, Credentials: text, NKey: text},
		"a certificate and its key go together":                  {Addresses: address, Certificate: text},
		"--nats-cert " + text + ", --nats-key " + text + ": exp": {Addresses: address, Certificate: text, Key: text},
		"open " + missing:                                        {Addresses: address, Certificate: text, Key: missing},
		"--nats-ca: open " + missing:                             {Addresses: address, CA: missing},
		"--nats-ca: " + text + " holds no certificate":           {Addresses: address, CA: text},
		`--nats-inbox "a.>"`:                                     {Addresses: address, Inbox: "a.>"},
		"no address":                                             {},
		"expected nats://, tls://":                               {Addresses: "http://127.0.0.1:1"},
		"cannot be read":                                         {Addresses: "nats://u:p%ss@127.0.0.1:1"},
	} {
		if _, err := wire.Dial(t.Context(), access, "test"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", access, err, want)
		}
		if _, err := wire.Connect(access, "test", slog.New(slog.DiscardHandler)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%+v: a daemon: %v, want %q", access, err, want)
		}
	}
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	file string
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.file, _, a.cert, a.key = a.make(name, true)
	return a
}

// make makes a certificate and returns its file and its key's.
func (a *authority) make(name string,
	signs bool) (certFile, keyFile string, cert *x509.Certificate, key *ecdsa.PrivateKey) {
	a.t.Helper()
	fail := func(err error) {
		if err != nil {
			a.t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fail(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: signs, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := template, key
	if !signs {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	fail(err)
	cert, err = x509.ParseCertificate(der)
	fail(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	fail(err)
	certFile = writeFile(a.t, filepath.Join(a.dir, name+".pem"),
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	keyFile = writeFile(a.t, filepath.Join(a.dir, name+".key"),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return certFile, keyFile, cert, key
}

// TestCertificates: a server that wants certificates lets in who has one of its
// authority, and whoever comes knows the server by its own.
func TestCertificates(t *testing.T) {
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	serverCert, serverKey, _, _ := ours.make("server", false)
	cert, key, _, _ := ours.make("worker", false)
	otherCert, otherKey, _, _ := theirs.make("worker", false)
	config := writeFile(t, filepath.Join(t.TempDir(), "tls.conf"), fmt.Sprintf(
		"tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\n", serverCert, serverKey, ours.file))
	options, err := server.ProcessConfigFile(config)
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port = "127.0.0.1", -1
	address := run(t, options)
	connect := map[string]func(wire.Access) error{
		"a client": func(a wire.Access) error {
			conn, err := wire.Dial(t.Context(), a, "test")
			if err == nil {
				conn.Close()
			}
			return err
		},
		"a daemon": func(a wire.Access) error {
			conn, err := wire.Connect(a, "test", slog.New(slog.DiscardHandler))
			if err == nil {
				defer conn.Close()
				if !conn.IsConnected() {
					return errors.New("not connected")
				}
			}
			return err
		},
	}
	for who, do := range connect {
		if err := do(wire.Access{Addresses: address, CA: ours.file, Certificate: cert, Key: key}); err != nil {
			t.Errorf("%s: %v", who, err)
		}
		for want, access := range map[string]wire.Access{
			"--nats-ca":               {Addresses: address, Certificate: cert, Key: key},
			"signed by nobody known":  {Addresses: address, CA: theirs.file, Certificate: cert, Key: key},
			"--nats-cert, --nats-key": {Addresses: address, CA: ours.file},
			"refuses the TLS":         {Addresses: address, CA: ours.file, Certificate: otherCert, Key: otherKey},
		} {
			var refused *wire.AuthorizationError
			if err := do(access); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: want %q: %v", who, want, err)
			}
		}
	}
}

// TestCredentials: a user of an account comes by the file that nsc writes; one
// that has expired is told from one that was never known.
func TestCredentials(t *testing.T) {
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pair := func(create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		t.Helper()
		key, err := create()
		fail(err)
		public, err := key.PublicKey()
		fail(err)
		return key, public
	}
	operatorKey, operator := pair(nkeys.CreateOperator)
	accountKey, account := pair(nkeys.CreateAccount)
	accountJWT, err := jwt.NewAccountClaims(account).Encode(operatorKey)
	fail(err)
	resolver := &server.MemAccResolver{}
	fail(resolver.Store(account, accountJWT))
	address := run(t, &server.Options{Host: "127.0.0.1", Port: -1, TrustedKeys: []string{operator},
		AccountResolver: resolver})
	credentials := func(name string, expires time.Time) string {
		t.Helper()
		userKey, user := pair(nkeys.CreateUser)
		claims := jwt.NewUserClaims(user)
		if !expires.IsZero() {
			claims.Expires = expires.Unix()
		}
		userJWT, err := claims.Encode(accountKey)
		fail(err)
		seed, err := userKey.Seed()
		fail(err)
		text, err := jwt.FormatUserConfig(userJWT, seed)
		fail(err)
		return writeFile(t, filepath.Join(t.TempDir(), name), string(text))
	}
	conn, err := wire.Dial(t.Context(),
		wire.Access{Addresses: address, Credentials: credentials("good.creds", time.Time{})}, "test")
	fail(err)
	conn.Close()
	var refused *wire.AuthorizationError
	_, err = wire.Dial(t.Context(), wire.Access{Addresses: address,
		Credentials: credentials("old.creds", time.Now().Add(-time.Hour))}, "test")
	if !errors.As(err, &refused) {
		t.Errorf("expired: %v", err)
	}
	_, err = wire.Dial(t.Context(), wire.Access{Addresses: address}, "test")
	if !errors.As(err, &refused) {
		t.Errorf("without credentials: %v", err)
	}
}
