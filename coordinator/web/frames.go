package web

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sweep/coordinator/web/frame"
	"sweep/sweep"
)

const (
	// mostFrames is how many sweeps' columns are kept; the one that was asked for
	// longest ago makes room.
	mostFrames = 8
	// patience is how long a question waits for the first trials of a sweep, and
	// afterwards how long the reading of the others may go on before it is answered from
	// what there is; the answer says so.
	patience   = 400 * time.Millisecond
	afterwards = 100 * time.Millisecond
	// firstRows is how many trials are read before the first answer.
	firstRows = 512
	// freshness is how old the columns of a sweep that goes on may be, at least; reading
	// takes one part in thrift of the time, so that a run is not slowed down by who looks
	// at it, up to columns that are oldest old.
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

	mu sync.Mutex
	// using counts the questions that are being answered; gone says that the columns
	// are given up after the last.
	using int
	gone  bool
	asked time.Time
	// read is when they were last brought up to date, reading is closed when that is
	// done.
	read    time.Time
	reading chan struct{}
	// started is when that began; due is when it is to be done again at the earliest, and
	// ended says that the sweep had ended by then.
	started, due time.Time
	ended        bool
	// updated is when the sweep had last changed, points its number of trials, left how
	// many spans of them are still to be read.
	updated      time.Time
	points, left int64
	err          error
}

// Read tells how much of a sweep an answer is about: Trials of Of were read. Without
// Complete more are being read now. Again says that the sweep may have gone on since.
type Read struct {
	Trials   int64  `json:"trials"`
	Of       int64  `json:"of"`
	Complete bool   `json:"complete"`
	Again    bool   `json:"again"`
	Version  uint64 `json:"version"`
}

// use has do answer a question over a sweep's columns. It waits a little for trials
// that are being read.
func (s *Server) use(ctx context.Context, reference string, do func(f *frame.Frame) error) (Read, error) {
	w, err := s.watch(ctx, reference)
	if err != nil {
		return Read{}, err
	}
	defer w.leave()
	current := s.refresh(w)
	w.mu.Lock()
	reading, started := w.reading, w.started
	w.mu.Unlock()
	for _, wait := range []struct {
		until <-chan struct{}
		most  time.Duration
	}{{w.begun, patience}, {reading, time.Until(started.Add(afterwards))}} {
		if reading == nil {
			break
		}
		select {
		case <-reading:
		case <-wait.until:
		case <-time.After(wait.most):
		case <-ctx.Done():
			return Read{}, ctx.Err()
		}
	}
	if reading != nil {
		select {
		case <-reading:
		default: // it is answered from what there was before
			current = false
		}
	}
	for {
		read, err := s.answer(ctx, w, do)
		read.Again = !current
		var unknown *frame.UnknownError
		if reading == nil || !errors.As(err, &unknown) {
			return read, err
		}
		select { // a trial that is being read may have it
		case <-reading:
			reading = nil
		case <-ctx.Done():
			return read, ctx.Err()
		}
	}
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
	counts := w.frame.Counts()
	r := Read{Of: w.points, Complete: w.left == 0 && !w.read.IsZero(), Version: w.frame.Version()}
	for _, n := range counts {
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
			f, err := frame.New(s.options.Dir)
			if err != nil {
				return nil, err
			}
			s.frames.makeRoom()
			w = &watched{id: record.ID, frame: f, begun: make(chan struct{}), points: record.Points()}
			s.frames.byID[record.ID] = w
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.using++
	w.asked = time.Now()
	return w, nil
}

// makeRoom gives up the columns that were asked for longest ago, if there are too
// many.
func (f *frames) makeRoom() {
	if len(f.byID) < mostFrames {
		return
	}
	var oldest *watched
	for _, w := range f.byID {
		if oldest == nil || w.asked.Before(oldest.asked) {
			oldest = w
		}
	}
	delete(f.byID, oldest.id)
	oldest.mu.Lock()
	oldest.gone = true
	oldest.using++
	oldest.mu.Unlock()
	oldest.leave()
}

// leave ends the use of columns.
func (w *watched) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.using--
	if w.gone && w.using == 0 {
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

// refresh begins to bring columns up to date, unless they are or that goes on. It
// reports whether they are, once what it has begun to read has been read.
func (s *Server) refresh(w *watched) (current bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reading != nil { // it may have begun before what the question is about
		return false
	}
	if time.Now().Before(w.due) || s.ctx.Err() != nil {
		return w.ended
	}
	reading := make(chan struct{})
	w.reading, w.started = reading, time.Now()
	w.using++
	s.working.Go(func() {
		defer w.leave()
		ended, err := s.readTrials(s.ctx, w)
		w.mu.Lock()
		w.err, w.read, w.reading, w.ended = err, time.Now(), nil, ended
		w.due = w.read.Add(min(max(freshness, thrift*w.read.Sub(w.started)), oldest))
		w.mu.Unlock()
		close(reading)
	})
	return true
}

// readTrials reads what may have changed of a sweep: the trials that have no result,
// and after a retry those that had none worth keeping. It reports whether the sweep
// had ended.
func (s *Server) readTrials(ctx context.Context, w *watched) (ended bool, err error) {
	record, err := s.options.Store.Sweep(ctx, w.id)
	if err != nil {
		return false, err
	}
	progress, err := s.options.Store.Progress(ctx, w.id)
	if err != nil {
		return false, err
	}
	counts := w.frame.Counts()
	unwritten := int64(0)
	for _, g := range record.Grids {
		if g.Cancelled {
			unwritten += g.Points - g.Cursor
		}
	}
	retried := !record.UpdatedAt.Equal(w.updated) ||
		progress.Failed+progress.Cancelled-unwritten < counts[frame.Failed]+counts[frame.Cancelled]
	var spans []frame.Span
	for _, g := range record.Grids {
		until := g.First + g.Cursor
		err := w.frame.Unfinished(g.First, until, retried, func(span frame.Span) error {
			spans = append(spans, span)
			return nil
		})
		if err != nil {
			return false, err
		}
	}
	// the beginning is waited for
	if len(spans) > 0 && w.frame.Rows() == 0 && spans[0].Until-spans[0].From > firstRows {
		at := spans[0].From + firstRows
		spans = slices.Insert(spans, 0, frame.Span{From: spans[0].From, Until: at})
		spans[1].From = at
	}
	w.mu.Lock()
	w.points, w.left = record.Points(), int64(len(spans))
	w.mu.Unlock()
	for _, span := range spans {
		err := w.frame.Load(ctx, span, func(ctx context.Context, from, until int64,
			yield func(*sweep.TrialRow) error) error {
			return s.options.Store.Rows(ctx, w.id, from, until, yield)
		})
		if err != nil {
			return false, err
		}
		w.once.Do(func() { close(w.begun) })
		w.mu.Lock()
		w.left--
		w.mu.Unlock()
	}
	w.mu.Lock()
	w.updated = record.UpdatedAt
	w.mu.Unlock()
	return record.State == sweep.SweepFinished || record.State == sweep.SweepCancelled, nil
}
