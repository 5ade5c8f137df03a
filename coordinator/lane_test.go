package coordinator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// newLane is a lane of one grid with written pending trials.
func newLane(id string, priority int, waiting, outstanding, unwritten int64) *lane {
	return &lane{
		record: sweep.SweepRecord{ID: id, Priority: priority, Grids: []sweep.GridRecord{{
			Points: waiting + outstanding + unwritten, Cursor: waiting + outstanding,
		}}},
		progress: sweep.Progress{Pending: waiting + unwritten, Queued: outstanding - outstanding/2, Running: outstanding / 2},
	}
}

func TestDeal(t *testing.T) {
	for _, test := range []struct {
		name  string
		room  int64
		lanes []*lane
		want  string
	}{
		{"nothing", 5, nil, ""},
		{"no room", 0, []*lane{newLane("a", 0, 9, 0, 0)}, ""},
		{"room to spare", 9, []*lane{newLane("a", 0, 3, 0, 0)}, "aaa"},
		{"turns", 5, []*lane{newLane("b", 0, 9, 0, 0), newLane("a", 0, 9, 0, 0)}, "ababa"},
		{"the poorer first", 5, []*lane{newLane("a", 0, 9, 3, 0), newLane("b", 0, 9, 0, 0)}, "bbbab"},
		{"one runs out", 5, []*lane{newLane("a", 0, 9, 0, 0), newLane("b", 0, 1, 0, 0)}, "abaaa"},
		{"priority", 5, []*lane{newLane("a", 0, 9, 0, 0), newLane("b", 2, 3, 7, 0), newLane("c", 1, 1, 0, 0)}, "bbbca"},
		{"negative priority", 3, []*lane{newLane("a", -1, 9, 0, 0), newLane("b", 0, 2, 0, 0)}, "bba"},
		{"unwritten trials of higher priority", 5, []*lane{newLane("a", 0, 9, 0, 0), newLane("b", 1, 2, 0, 100)}, "bb"},
	} {
		var got strings.Builder
		for _, l := range deal(test.room, test.lanes) {
			got.WriteString(l.record.ID)
		}
		if got.String() != test.want {
			t.Errorf("%s: dealt %q, want %q", test.name, got.String(), test.want)
		}
	}
}

func TestDealSharesWorkers(t *testing.T) {
	lanes := []*lane{newLane("a", 0, 500, 40, 0), newLane("b", 0, 500, 0, 0), newLane("c", 0, 10, 0, 0)}
	for _, l := range deal(70, lanes) {
		l.progress.Queued++
	}
	// 110 in all: c has its 10, the others share the rest.
	for i, want := range []int64{50, 50, 10} {
		if got := lanes[i].outstanding(); got != want {
			t.Errorf("lane %s has %d trials, want %d", lanes[i].record.ID, got, want)
		}
	}
}

func TestCancelledPointsNeedNoRows(t *testing.T) {
	l := newLane("a", 0, 5, 0, 100)
	l.record.Grids[0].Cancelled = true
	l.progress.Pending = 5
	if l.unwritten() != 0 || l.waiting() != 5 {
		t.Errorf("%d unwritten, %d waiting; want 0 and 5", l.unwritten(), l.waiting())
	}
}

func TestNewID(t *testing.T) {
	start := time.Date(2026, 12, 31, 23, 59, 58, 0, time.FixedZone("", 3600))
	if id := newID(start); !strings.HasPrefix(id, "20261231-225958-") || id != strings.ToLower(id) {
		t.Errorf("id %s", id)
	}
	var ids []string
	seen := map[string]bool{}
	for i := range 200 {
		id := newID(start.Add(time.Duration(i) * time.Second))
		if err := wire.CheckToken("sweep", id); err != nil {
			t.Error(err)
		}
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) {
		t.Error("ids are not in order of time")
	}
	same := map[string]bool{}
	for range 100 {
		same[newID(start)] = true
	}
	if len(same) < 99 {
		t.Errorf("%d ids of 100 in one second differ", len(same))
	}
}
