package trainer

import (
	"io"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// events keeps what a trainer sends as bytes.
type events struct {
	grpc.BidiStreamingServer[trainerpb.TrainCommand, trainerpb.TrainEvent]
	sent [][]byte
}

func (e *events) Send(m *trainerpb.TrainEvent) error {
	data, err := proto.Marshal(m)
	e.sent = append(e.sent, data)
	return err
}

// recorder is the sink of a worker.
type recorder struct {
	*sweep.Recorder
	points int // that arrived
}

func (r *recorder) Points(batch []sweep.Curve) error {
	for _, c := range batch {
		r.points += len(c.Steps)
	}
	r.Add(batch)
	return nil
}

func (r *recorder) Checkpoint(int64, []byte) error { return nil }

func (r *recorder) Artifact(sweep.Artifact, io.Reader) error { return nil }

// Whether the trainer thins its curves, or a worker of an earlier version does, what is
// recorded is the same; a trainer that thins sends little more than what is kept. The clock stands
// still: a slow machine would send points more often.
func TestPointsAreThinnedByTheTrainer(t *testing.T) {
	synctest.Test(t, testPointsAreThinned)
}

func testPointsAreThinned(t *testing.T) {
	const length, limit = 5000, 100
	for _, request := range []*trainerpb.TrainRequest{{Call: 1, Points: limit, Thinned: true}, {Call: 1, Points: limit},
		{Call: 1, Points: length, Thinned: true}} {
		stream := &events{}
		s := newSender(stream, request)
		want := sweep.NewRecorder(int(request.GetPoints()))
		random := rand.New(rand.NewPCG(1, 2))
		for step := range int64(length) {
			batch := []sweep.Curve{{Metric: "loss", Steps: []int64{step}, Values: []float32{random.Float32()}}}
			if step%50 == 0 {
				batch = append(batch, sweep.Curve{Metric: "error", Steps: []int64{step},
					Values: []float32{random.Float32()}})
			}
			want.Add(batch)
			if err := s.Points(batch); err != nil {
				t.Fatal(err)
			}
			if step == length/2 {
				if err := s.Checkpoint(step, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.send(); err != nil {
			t.Fatal(err)
		}
		got := &recorder{Recorder: sweep.NewRecorder(int(request.GetPoints()))}
		r := receiver{sink: got}
		for _, data := range stream.sent {
			event := &trainerpb.TrainEvent{}
			if err := proto.Unmarshal(data, event); err != nil {
				t.Fatal(err)
			}
			for _, c := range event.GetPoints() {
				if !request.GetThinned() && (c.GetThinned() || len(c.GetPackedValues()) > 0) {
					t.Fatalf("a worker of an earlier version is sent %v", c)
				}
			}
			if err := r.forward(event); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(got.Curves(), want.Curves()) {
			t.Errorf("%v: recorded %v, want %v", request, got.Curves(), want.Curves())
		}
		if most := 10 * limit; request.GetThinned() && request.GetPoints() == limit && got.points > most {
			t.Errorf("%v: %d points were sent, want at most %d", request, got.points, most)
		}
	}
}

// A curve that does not fit itself is the trainer's failure.
func TestThinnedCurvesAreChecked(t *testing.T) {
	for _, c := range []*trainerpb.Curve{
		{Metric: "m", Thinned: true, PackedValues: []byte{0}},
		{Metric: "m", Thinned: true, PackedValues: make([]byte, 4)},
		{Metric: "m", Thinned: true, PackedSteps: []byte{0x80}},
		{Metric: "m", Thinned: true, PackedSteps: []byte{2, 2}, PackedValues: make([]byte, 4)},
		{Metric: "m", Thinned: true, Offset: -1},
	} {
		r := receiver{sink: &recorder{Recorder: sweep.NewRecorder(10)}}
		if err := r.forward(&trainerpb.TrainEvent{Points: []*trainerpb.Curve{c}}); err == nil {
			t.Errorf("%v is taken", c)
		}
	}
}
