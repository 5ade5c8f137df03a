package web

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/progress"
)

const (
	// maxFrames is how many sweeps' columns are kept; the least recently used make room.
	maxFrames = 8
	// patience is how long a query waits for the first trials of a sweep, and
	// afterwards how long after that the others may be read before it is answered from
	// what there is; the answer says so.
	patience   = 400 * time.Millisecond
	afterwards = 100 * time.Millisecond
	// firstRows is how many trials are read before the first answer.
	firstRows = 512
	// freshness is how old the columns of an unfinished sweep may be, at least; reading
	// takes one part in thrift of the time, so that looking at a run does not slow it
	// down, up to columns that are oldest old.
	freshness = time.Second
	thrift    = 200
	oldest    = 20 * time.Second
)

// frames are the columns of the sweeps that are looked at.
type frames struct {
	mu   sync.Mutex
	byID map[string]*watched
}

// watched are the columns of a sweep and how far they have been read.
type watched struct {
	id    string
	frame *frame.Frame
	// begun is closed when the first trials have been read.
	begun chan struct{}
	once  sync.Once
	// updated is when the sweep had last changed at the last reading, which alone uses it.
	updated time.Time
	// edits is how many edits of trials' annotations there were then, which alone uses it too.
	edits int64

	// observer tells when the sweep will be over; it was made when the sweep had so many grids.
	observing sync.Mutex
	observer  *progress.Observer
	grids     int

	mu sync.Mutex
	// using counts who needs the columns: frames, queries, a reading. The last one closes them.
	using int
	asked time.Time
	// reading is the reading in progress. The next one is due then, and ended says that the
	// sweep had ended at the last one. After an edit it is due at once.
	reading *reading
	due     time.Time
	ended   bool
	edited  bool
	// points is the sweep's number of trials, left how many spans of them are still to be read;
	// read says that a reading has ended, err is the last one's error.
	points, left int64
	read         bool
	err          error
}

// reading is the reading of what has changed of a sweep.
type reading struct {
	began time.Time
	done  chan struct{}
}

// Read tells how much of a sweep an answer covers: Trials of Of were read. Without
// Complete more are being read now. Again says that the sweep may have changed since.
type Read struct {
	Trials   int64  `json:"trials"`
	Of       int64  `json:"of"`
	Complete bool   `json:"complete"`
	Again    bool   `json:"again"`
	Version  uint64 `json:"version"`
}

// use has do answer a query over a sweep's columns. It waits a little for trials
// that are being read.
func (s *Server) use(ctx context.Context, reference string, do func(f *frame.Frame) error) (Read, error) {
	w, err := s.watch(ctx, reference)
	if err != nil {
		return Read{}, err
	}
	defer w.leave()
	reading, current := s.refresh(w)
	if reading != nil {
		for _, wait := range []struct {
			until <-chan struct{}
			most  time.Duration
		}{{w.begun, patience}, {reading.done, time.Until(reading.began.Add(afterwards))}} {
			select {
			case <-reading.done:
			case <-wait.until:
			case <-time.After(wait.most):
			case <-ctx.Done():
				return Read{}, ctx.Err()
			}
		}
		select {
		case <-reading.done:
		default: // it is answered from what there was before
			current = false
		}
	}
	read, err := s.answer(ctx, w, do)
	if reading != nil && errors.As(err, new(*frame.UnknownError)) {
		select { // a trial that is being read may have it
		case <-reading.done:
			read, err = s.answer(ctx, w, do)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	read.Again = !current
	return read, err
}

// useWhole has do answer a query over a sweep's columns when the reading in progress has ended.
func (s *Server) useWhole(ctx context.Context, reference string, do func(f *frame.Frame) error) error {
	w, err := s.watch(ctx, reference)
	if err != nil {
		return err
	}
	defer w.leave()
	if reading, _ := s.refresh(w); reading != nil {
		select {
		case <-reading.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, err = s.answer(ctx, w, do)
	return err
}

// answer has do answer a question from what has been read, when it is its turn.
func (s *Server) answer(ctx context.Context, w *watched, do func(f *frame.Frame) error) (Read, error) {
	select {
	case s.questions <- struct{}{}:
		defer func() { <-s.questions }()
	case <-ctx.Done():
		return Read{}, ctx.Err()
	}
	read, err := w.state()
	if err != nil {
		return read, err
	}
	return read, do(w.frame)
}

func (w *watched) state() (Read, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	loaded := w.frame.Loaded()
	r := Read{Of: w.points, Complete: w.left == 0 && w.read, Version: loaded.Version}
	for _, n := range loaded.Counts {
		r.Trials += n
	}
	return r, w.err
}

// watch finds the columns of a sweep, or begins with them.
func (s *Server) watch(ctx context.Context, reference string) (*watched, error) {
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	w := s.frames.byID[reference]
	if w == nil {
		record, err := s.options.Store.Sweep(ctx, reference)
		if err != nil {
			return nil, err
		}
		if w = s.frames.byID[record.ID]; w == nil {
			f, err := frame.New(s.options.Dir, record)
			if err != nil {
				return nil, err
			}
			s.frames.makeRoom()
			w = &watched{id: record.ID, frame: f, begun: make(chan struct{}), using: 1, points: record.Points()}
			s.frames.byID[record.ID] = w
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.using++
	w.asked = time.Now()
	return w, nil
}

// makeRoom drops the least recently used columns, if there are too many.
func (f *frames) makeRoom() {
	if len(f.byID) < maxFrames {
		return
	}
	oldest := slices.MinFunc(slices.Collect(maps.Values(f.byID)),
		func(a, b *watched) int { return a.asked.Compare(b.asked) })
	delete(f.byID, oldest.id)
	oldest.leave()
}

// leave ends the use of columns.
func (w *watched) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.using--; w.using == 0 {
		_ = w.frame.Close() // its files have no names
	}
}

func (f *frames) close() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, w := range f.byID {
		err = errors.Join(err, w.frame.Close())
		delete(f.byID, id)
	}
	return err
}

// refresh begins to bring columns up to date if they are due, and returns the reading in progress,
// if any. It reports whether they are up to date once that has ended.
func (s *Server) refresh(w *watched) (inProgress *reading, current bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reading != nil { // it may have begun before what the query is about
		return w.reading, false
	}
	if time.Now().Before(w.due) && !w.edited || s.ctx.Err() != nil {
		return nil, w.ended
	}
	w.edited = false
	r := &reading{began: time.Now(), done: make(chan struct{})}
	w.reading = r
	w.using++
	s.working.Go(func() {
		defer w.leave()
		ended, err := s.readTrials(s.ctx, w)
		w.mu.Lock()
		now := time.Now()
		w.reading, w.due = nil, now.Add(min(max(freshness, thrift*now.Sub(r.began)), oldest))
		w.read, w.ended, w.err = true, ended, err
		w.mu.Unlock()
		close(r.done)
	})
	return r, true
}

// edited has the columns of a sweep read again for the next query.
func (f *frames) edited(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.byID[id]; w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.edited = true
	}
}

// readTrials reads what may have changed of a sweep: the trials that have no result,
// and after a retry those that failed or were cancelled. It reports whether the sweep
// had ended.
func (s *Server) readTrials(ctx context.Context, w *watched) (ended bool, err error) {
	defer sweep.Catch(&err)
	record, err := s.options.Store.Sweep(ctx, w.id)
	if err != nil {
		return false, err
	}
	progress, err := s.options.Store.Progress(ctx, w.id)
	if err != nil {
		return false, err
	}
	edited, edits, err := s.options.Store.Edited(ctx, w.id, w.edits)
	if err != nil {
		return false, err
	}
	loaded := w.frame.Loaded()
	unwritten := int64(0)
	for _, g := range record.Grids {
		if g.Cancelled {
			unwritten += g.Points - g.Cursor
		}
	}
	retried := !record.UpdatedAt.Equal(w.updated) ||
		progress.Failed+progress.Cancelled-unwritten < loaded.Counts[frame.Failed]+loaded.Counts[frame.Cancelled]
	var spans []frame.Span
	for _, g := range record.Grids {
		more, err := w.frame.Unfinished(g.First, g.First+g.Cursor, retried)
		if err != nil {
			return false, err
		}
		spans = append(spans, more...)
	}
	if loaded.Rows > 0 {
		spans = append(spans, frame.Around(edited)...)
	}
	// Queries wait for the beginning.
	if len(spans) > 0 && loaded.Rows == 0 && spans[0].Until-spans[0].From > firstRows {
		at := spans[0].From + firstRows
		spans = slices.Insert(spans, 0, frame.Span{From: spans[0].From, Until: at})
		spans[1].From = at
	}
	w.mu.Lock()
	w.points, w.left = record.Points(), int64(len(spans))
	w.mu.Unlock()
	for _, span := range spans {
		err := w.frame.Load(span, func(yield func(*sweep.TrialRow) error) error {
			return s.options.Store.Rows(ctx, w.id, span.From, span.Until, yield)
		})
		if err != nil {
			return false, err
		}
		w.once.Do(func() { close(w.begun) })
		w.mu.Lock()
		w.left--
		w.mu.Unlock()
	}
	w.updated, w.edits = record.UpdatedAt, edits
	return record.State == sweep.SweepFinished || record.State == sweep.SweepCancelled, nil
}
