package wire_test

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

func TestHeartbeat(t *testing.T) {
	conn := wiretest.Start(t)
	w := open(t, conn, wire.Options{})
	heartbeat := wire.Heartbeat{
		WorkerStatus: wire.WorkerStatus{
			ID: "w1", Name: "host-1", Pool: "cpu", Version: "1.2.3", State: wire.WorkerReady,
			Slots: []wire.WorkerSlot{},
			Offer: sweep.Offer{Pool: "cpu", Slots: 2,
				Trainers: []sweep.TrainerOffer{{Name: "noop", ResultVersion: "1"}}},
		},
		Running:     []wire.Running{{TrialID: sweep.TrialID{Sweep: "s", Index: 3}, Execution: "e"}},
		Checkpoints: []sweep.TrialID{{Sweep: "s", Index: 4}},
	}
	if answer, err := w.SendHeartbeat(t.Context(), heartbeat); err == nil {
		t.Errorf("without a coordinator: %+v", answer)
	}
	var mu sync.Mutex
	var heard []wire.Heartbeat
	want := wire.HeartbeatAnswer{Stop: heartbeat.Running, Ended: heartbeat.Checkpoints}
	called := make(chan struct{}, 10)
	unsubscribe, err := w.HeartbeatRequests(func() { called <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer unsubscribe()
	// One that does not lead leaves the answer to the one that does.
	stopDeposed, err := w.ServeHeartbeats(func(wire.Heartbeat) *wire.HeartbeatAnswer { return nil })
	if err != nil {
		t.Fatal(err)
	}
	stop, err := w.ServeHeartbeats(func(b wire.Heartbeat) *wire.HeartbeatAnswer {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, b)
		return &want
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	select {
	case <-called:
	case <-time.After(patience):
		t.Error("no request for heartbeats")
	}
	answer, err := w.SendHeartbeat(t.Context(), heartbeat)
	if err != nil || !reflect.DeepEqual(*answer, want) {
		t.Errorf("SendHeartbeat = %+v, %v", answer, err)
	}
	stopDeposed()
	// What cannot be read, or is of another pool than its subject, is dropped.
	for subject, data := range map[string]string{
		"sweep.beat.cpu.w2": "junk",
		"sweep.beat.gpu.w3": `{"version":5,"beat":{"pool":"cpu","id":"w3"}}`,
		"sweep.beat.cpu.w4": `{"version":6,"beat":"of another form"}`,
	} {
		if err := conn.PublishMsg(&nats.Msg{Subject: subject, Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "malformed heartbeats are counted", func() bool { return w.Malformed() == 3 })
	mu.Lock()
	defer mu.Unlock()
	if len(heard) != 1 || !reflect.DeepEqual(heard[0], heartbeat) {
		t.Errorf("heard %+v", heard)
	}
}
