package script

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sweep/sweep"
)

// Trials of a sweep that run on one machine at the same time may write the same files, and read back what another has
// written. Each says in a folder of the sweep where its record of inputs is and, when it has ended, which files it
// wrote; before that, it compares its own files with those of the others that ran meanwhile.

// maxShared bounds the files of a trial that are compared.
const maxShared = 10_000

// sharing is what one trial tells the others. A nil *sharing tells and knows nothing.
type sharing struct {
	folder string
	index  int64
	lock   *os.File
	began  int64
	own    *recorder
}

// use is how a trial uses a file that is written while it runs.
type use struct {
	// First is when it was first written or, if something else wrote it than Python, changed, in nanoseconds.
	First int64 `json:"first"`
	// Wrote says that Python wrote it, Read that it was read.
	Wrote bool `json:"wrote,omitempty"`
	Read  bool `json:"read,omitempty"`
}

// share is what the folder has of a trial: while it runs the path of its record, when it has ended its uses. It stays
// one file, written over: file systems are slow to make files where many were removed.
type share struct {
	Began  int64          `json:"began"`
	Ended  int64          `json:"ended,omitempty"`
	Record string         `json:"record,omitempty"`
	Uses   map[string]use `json:"uses,omitempty"`
	runs   bool
}

// newSharing begins to tell the others about a trial; nil if there is nowhere to, or another execution of the trial
// runs.
func (e *execution) newSharing() *sharing {
	if e.trainer.options.Checkpoints == "" {
		return nil
	}
	s := &sharing{index: e.request.Index, began: e.inputs.began.UnixNano(), own: e.inputs,
		folder: filepath.Join(e.trainer.sharedFolder(), filepath.Base(e.request.Sweep))}
	path := s.path(s.index)
	var f *os.File
	err := os.ErrNotExist
	for n := 0; n < 10 && errors.Is(err, os.ErrNotExist); n++ { // a trial that ends may have removed the folder
		if err = os.MkdirAll(s.folder, 0o755); err == nil {
			f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		}
	}
	if err != nil {
		return nil
	}
	_ = f.Close() // it was only made
	if s.lock, err = lockFolder(path); err != nil {
		return nil
	}
	if s.write(share{Began: s.began, Record: s.own.path}) != nil {
		s.close()
		return nil
	}
	return s
}

// sharedFolder has the folders of sweeps whose trials share a directory.
func (t *Trainer) sharedFolder() string {
	return filepath.Join(filepath.Dir(t.options.Checkpoints), "shared")
}

func (s *sharing) path(index int64) string { return filepath.Join(s.folder, fmt.Sprint(index)) }

// write writes over the trial's share. Who reads it meanwhile finds one of both whole: see readShare.
func (s *sharing) write(what share) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.path(s.index), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Truncate(int64(len(text)))
	}
	return errors.Join(err, f.Close())
}

// close stops telling; it is safe to be called again.
func (s *sharing) close() {
	if s != nil && s.lock != nil {
		_ = s.lock.Close() // it was only locked
		s.lock = nil
	}
}

// conflict is a file that two trials wrote while both ran.
type conflict struct {
	name  string
	trial int64
	// wrote says that Python wrote it in both.
	wrote bool
}

// end says which files the trial wrote and returns those that another one wrote, too, while both ran, sorted.
func (s *sharing) end() (conflicts []conflict) {
	if s == nil {
		return nil
	}
	defer s.oneAtATime()()
	defer s.close()
	mine := share{Began: s.began, Ended: time.Now().UnixNano()}
	mine.Uses = usesOf(s.own.path, s.began, s.own.project)
	_ = s.write(mine) // else the others do not see it
	others, running := s.others()
	for index, other := range others {
		for name, use := range mine.Uses {
			its, both := other.Uses[name]
			if both && use.First <= cmp.Or(other.Ended, mine.Ended) && its.First <= mine.Ended {
				conflicts = append(conflicts, conflict{name, index, use.Wrote && its.Wrote})
				if use.Read {
					s.own.shared[name] = true
				}
			}
		}
	}
	s.clean(others, running)
	slices.SortFunc(conflicts, func(a, b conflict) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.trial, b.trial))
	})
	return conflicts
}

// oneAtATime waits until no other trial compares its files, or has for a second, so that the last one sees that it is.
func (s *sharing) oneAtATime() (done func()) {
	const pause = 10 * time.Millisecond
	for range time.Second / pause {
		lock, err := lockFolder(s.folder)
		if err == nil {
			return func() { _ = lock.Close() } // it was only locked
		}
		if !errors.Is(err, errTaken) {
			break
		}
		time.Sleep(pause)
	}
	return func() {}
}

// others returns what there is of the other trials, and when the first of those began that run; 0 without one.
func (s *sharing) others() (others map[int64]share, running int64) {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return nil, 0
	}
	others = map[int64]share{}
	for _, entry := range entries {
		index, err := strconv.ParseInt(entry.Name(), 10, 64)
		if err != nil || index == s.index {
			continue
		}
		path := s.path(index)
		lock, err := lockFolder(path)
		runs := errors.Is(err, errTaken)
		if lock != nil {
			_ = lock.Close() // it was only locked
		}
		its := readShare(path)
		if its.Ended == 0 && runs {
			began := cmp.Or(its.Began, time.Now().UnixNano()) // it has only begun
			uses := usesOf(its.Record, began, s.own.project)
			if its = readShare(path); its.Ended == 0 { // else meanwhile
				its = share{Began: began, Uses: uses}
			}
		}
		if its.runs = runs; runs && (running == 0 || its.Began < running) {
			running = its.Began
		}
		others[index] = its // nothing of a trial that was killed
	}
	return others, running
}

// readShare returns a trial's share; nothing if there is none. What follows the first value is of an earlier one.
func readShare(path string) (s share) {
	f, err := os.Open(path)
	if err != nil {
		return share{}
	}
	defer func() { _ = f.Close() }() // it was only read
	if json.NewDecoder(f).Decode(&s) != nil {
		return share{}
	}
	return s
}

// clean removes what no trial that runs will look at.
func (s *sharing) clean(others map[int64]share, running int64) {
	for index, other := range others {
		if !other.runs && (running == 0 || other.Ended < running) {
			s.remove(index)
		}
	}
	if running == 0 {
		s.remove(s.index)
		_ = os.Remove(s.folder) // fails if something is in it
	}
}

func (s *sharing) remove(index int64) {
	_ = os.Remove(s.path(index)) // the next one finds what could not be removed
}

// first reports whether this is the first call for the sweep on this machine.
func (s *sharing) first() bool {
	if os.MkdirAll(s.folder, 0o755) != nil {
		return false
	}
	f, err := os.OpenFile(filepath.Join(s.folder, "said"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// removeOldShares removes the folders of sweeps of which no trial has run for a while.
func (t *Trainer) removeOldShares(now time.Time) {
	if t.options.Checkpoints == "" {
		return
	}
	entries, _ := os.ReadDir(t.sharedFolder()) // none yet
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > folderAge {
			_ = os.RemoveAll(filepath.Join(t.sharedFolder(), entry.Name())) // or the next start does
		}
	}
}

// usesOf reads from a record which files of a project a trial that began at a time has written.
func usesOf(record string, began int64, p *project) map[string]use {
	uses := map[string]use{}
	f, err := os.Open(record)
	if err != nil {
		return uses
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && len(uses) < maxShared {
		kind, text, _ := strings.Cut(lines.Text(), " ")
		var at int64
		switch kind {
		case "R":
			_, rest, _ := strings.Cut(text, " ")
			at, text = timed(rest)
			if at <= began || isSource(text) {
				continue
			}
		case "W":
			at, text = timed(text)
		case "O":
		default:
			continue
		}
		name, ok := p.sharedName(unescape(text))
		if !ok {
			continue
		}
		u, known := uses[name]
		switch {
		case kind == "W":
			u.Wrote = true
		case kind == "R" || known:
			u.Read = true
		default:
			continue // it was written as a log is
		}
		if !known {
			u.First = at
		}
		uses[name] = u
	}
	return uses
}

// timed splits off a time in nanoseconds.
func timed(text string) (at int64, rest string) {
	number, rest, _ := strings.Cut(text, " ")
	at, _ = strconv.ParseInt(number, 10, 64)
	return at, rest
}

// sharedName returns the name of a file of the project's own directory, also of one that a link in a trial's own
// directory leads to.
func (p *project) sharedName(path string) (string, bool) {
	if p.copied != "" && below(path, []string{p.copied}) {
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil || !below(resolved, p.resolved) {
			return "", false
		}
		path = resolved
	}
	if below(path, p.skipped) || !below(path, p.roots) && !below(path, p.resolved) {
		return "", false
	}
	if below(path, p.resolved) {
		return relative(p.resolved[0], path)
	}
	return relative(p.directory, path)
}

// remark says that the files of a trial are those of another, too; "" if there are none.
func remark(index int64, own bool, conflicts []conflict) string {
	if len(conflicts) == 0 {
		return ""
	}
	c := conflicts[0]
	names := map[string]bool{}
	for _, other := range conflicts {
		names[other.name] = true
	}
	list := slices.Sorted(maps.Keys(names))
	more := ""
	if n := len(list) - 1; n > 0 {
		more = " and " + sweep.CountText(n, "other file")
	}
	trials := fmt.Sprintf("trials %d and %d", min(index, c.trial), max(index, c.trial))
	did := " wrote "
	if !c.wrote {
		did = " used "
	}
	if own {
		return fmt.Sprintf("%s%s%s%s while both ran, by a link to the project's file: move it out of the project, or "+
			"write to $SWEEP_ARTIFACTS", trials, did, c.name, more)
	}
	return fmt.Sprintf("%s%s%s%s in the same directory while both ran: write to $SWEEP_ARTIFACTS or set directory: own",
		trials, did, c.name, more)
}

// unescape reads a text of a record.
func unescape(text string) string { return strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(text) }
