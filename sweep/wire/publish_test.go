package wire_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

// PublishJobs waits for a slow server as long as that has the stream; else it tells which jobs
// have been stored.
func TestSlowServer(t *testing.T) {
	slow := wire.Queue{Pool: "slow", Offer: "all"}
	for name, c := range map[string]struct {
		stream, made bool // there from the beginning, or made meanwhile
		// asked is how often PublishJobs asks for the stream before the first job is stored.
		asked int
		want  []uint64
	}{
		"slow":       {stream: true, asked: 2, want: []uint64{1, 2}},
		"lost":       {asked: 2, want: []uint64{0, 2}}, // it asks once, and gives up
		"made again": {made: true, asked: 2, want: []uint64{0, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := wiretest.Run(t, wiretest.Options{Dir: t.TempDir()})
			w, err := wire.New(server.Connect(t), wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			// The stream gets other messages. The jobs are acknowledged here: the second at once.
			other := server.Connect(t)
			makeStream := func() {
				js, err := jetstream.New(other)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "SWEEP_JOBS_slow",
					Subjects: []string{"nothing"}}); err != nil {
					t.Fatal(err)
				}
			}
			if c.stream {
				makeStream()
			}
			jobs, asked := make(chan *nats.Msg, 2), make(chan *nats.Msg, 10)
			for subject, to := range map[string]chan *nats.Msg{
				"sweep.work.slow.>": jobs, "$JS.API.STREAM.INFO.SWEEP_JOBS_slow": asked,
			} {
				if _, err := other.ChanSubscribe(subject, to); err != nil {
					t.Fatal(err)
				}
			}
			if err := other.Flush(); err != nil {
				t.Fatal(err)
			}
			acknowledge := func(m *nats.Msg, sequence int) {
				if err := m.Respond(fmt.Appendf(nil, `{"stream":"SWEEP_JOBS_slow","seq":%d}`, sequence)); err != nil {
					t.Error(err)
				}
			}
			ended := make(chan struct{})
			var sequences []uint64
			go func() {
				defer close(ended)
				sequences, err = w.PublishJobs(t.Context(), slow, jobsOf(2))
			}()
			first := <-jobs
			if c.made {
				makeStream()
			}
			acknowledge(<-jobs, 2)
			for range c.asked {
				select {
				case <-asked:
				case <-ended:
				}
			}
			acknowledge(first, 1)
			<-ended
			if !slices.Equal(sequences, c.want) || wire.IsLost(err) == c.stream || (err == nil) != c.stream {
				t.Errorf("sequences %v, %v; want %v", sequences, err, c.want)
			}
		})
	}
}
