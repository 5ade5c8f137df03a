package wire_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// PublishJobs waits for a slow server as long as its stream fills; else it tells which jobs have
// been stored.
func TestSlowServer(t *testing.T) {
	const slow, early, never, check = 3, 0, 100, 2 * time.Second
	state := func(created time.Time, last int) string {
		return fmt.Sprintf(`{"type":"io.nats.jetstream.api.v1.stream_info_response","config":{"name":"SWEEP_JOBS_cpu"},`+
			`"created":%q,"state":{"last_seq":%d}}`, created.Format(time.RFC3339Nano), last)
	}
	before := time.Now().Add(-time.Hour)
	type server struct {
		// info is the answer to a question for the stream; the first job is acknowledged after
		// a number of questions. By the second question, which follows the answer to the first
		// 2 s later, the client has the acknowledgements that were sent.
		info         func(question int) string
		acknowledged int
		want         []uint64
		lost         bool
	}
	gone := func(text string) func(int) string {
		return func(question int) string {
			if question == 1 {
				return state(before, 7)
			}
			return text
		}
	}
	cases := map[string]server{
		"slow": {func(question int) string { return state(before, question) }, slow, []uint64{1, 2}, false},
		"idle": {func(int) string { return state(before, 7) }, never, []uint64{0, 2}, false},
		"lost": {gone(`{"error":{"code":404,"err_code":10059,"description":"stream not found"}}`), never,
			[]uint64{0, 2}, true},
		"made again": {gone(state(time.Now().Add(time.Hour), 8)), never, []uint64{0, 2}, true},
	}
	// A job that is acknowledged while an answer is awaited for longer than the time to the next
	// question needs none, whichever the client sees first.
	for i := range 4 {
		cases[fmt.Sprint("late ", i)] = server{func(int) string {
			time.Sleep(5 * check / 4)
			return state(before, 7)
		}, early, []uint64{1, 2}, false}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := wiretest.Run(t, wiretest.Options{Dir: t.TempDir()})
			// Only other answers in this domain.
			w, err := wire.New(server.Connect(t), wire.Options{Domain: "test"})
			if err != nil {
				t.Fatal(err)
			}
			w.SetStreamCheck(check)
			other := server.Connect(t)
			answer := func(m *nats.Msg, text string) {
				if err := m.Respond([]byte(text)); err != nil {
					t.Error(err)
				}
			}
			acknowledge := func(m *nats.Msg, sequence int) {
				answer(m, fmt.Sprintf(`{"stream":"SWEEP_JOBS_cpu","seq":%d}`, sequence))
			}
			jobs := make(chan *nats.Msg, 2)
			if _, err := other.ChanSubscribe("sweep.work.cpu.>", jobs); err != nil {
				t.Fatal(err)
			}
			first, second := make(chan *nats.Msg, 1), make(chan struct{})
			question := 0
			if _, err := other.Subscribe("$JS.test.API.STREAM.INFO.SWEEP_JOBS_cpu", func(m *nats.Msg) {
				question++
				<-second
				if question == 1 && c.acknowledged == early {
					acknowledge(<-first, 1)
				}
				answer(m, c.info(question))
				if question == c.acknowledged {
					acknowledge(<-first, 1)
				}
			}); err != nil {
				t.Fatal(err)
			}
			if err := other.FlushTimeout(patience); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			var sequences []uint64
			var problem error
			go func() {
				defer close(ended)
				sequences, problem = w.PublishJobs(t.Context(), queue("cpu"), jobsOf(2))
			}()
			first <- <-jobs
			acknowledge(<-jobs, 2)
			close(second)
			<-ended
			if !slices.Equal(sequences, c.want) || (problem == nil) != (c.acknowledged != never) ||
				wire.IsLost(problem) != c.lost {
				t.Errorf("sequences %v, %v; want %v", sequences, problem, c.want)
			}
		})
	}
}
