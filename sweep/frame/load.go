package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"

	"sweep/sweep"
)

// Span are trials that are to be read, from one index up to another, all in one page, which has chunk trials.
type Span struct{ From, Until int64 }

// page gathers the values of a span's trials.
type page struct {
	states []State
	values map[*column][]uint64
}

// Load reads the trials of a span anew: read calls yield for those that there are.
func (f *Frame) Load(span Span, read func(yield func(*sweep.TrialRow) error) error) error {
	p := &page{states: make([]State, span.Until-span.From), values: map[*column][]uint64{}}
	field := func(name string) *column { return f.byName[sweep.FieldKind.Of(name)] }
	executions, seconds := field("executions"), field("seconds")
	runName, runGroup, tags := field("run_name"), field("run_group"), field(sweep.TagColumn)
	label := func(i int, c *column, text string) {
		if text != "" {
			p.set(c, i, f.code(c, entry{text, "text"}))
		}
	}
	err := read(func(row *sweep.TrialRow) error {
		i := int(row.Index - span.From)
		if i < 0 || i >= len(p.states) {
			return nil
		}
		p.states[i] = stateOf(row)
		members(row.Parameters, func(name, value []byte) { f.put(p, i, sweep.ParameterKind, name, value) })
		p.set(executions, i, number(float64(row.Executions)))
		label(i, runName, row.RunName)
		label(i, runGroup, row.RunGroup)
		label(i, tags, row.Tags)
		if !row.State.Terminal() || len(row.Summary) == 0 {
			return nil
		}
		members(row.Summary, func(name, value []byte) { f.put(p, i, sweep.MetricKind, name, value) })
		if row.Seconds != 0 { // which stands for unknown
			p.set(seconds, i, number(row.Seconds))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return f.save(span.From, p)
}

func (p *page) set(c *column, row int, value uint64) {
	values := p.values[c]
	if values == nil {
		values = slices.Repeat([]uint64{missing}, len(p.states))
		p.values[c] = values
	}
	values[row] = value
}

// put enters a member of parameters or summary.
func (f *Frame) put(p *page, row int, kind sweep.NameKind, name, value []byte) {
	c := f.members[kind][string(name[1:max(1, len(name)-1)])]
	if c == nil || bytes.IndexByte(name, '\\') >= 0 {
		c = f.member(kind, text(name))
	}
	f.enter(p, row, c, f.encode(c, value))
}

// member returns the column of a parameter or metric, a new one if there is none.
func (f *Frame) member(kind sweep.NameKind, own string) *column {
	c := f.members[kind][own]
	if c == nil {
		c = &column{name: own, kind: kind}
		f.mu.Lock()
		f.add(c)
		f.mu.Unlock()
	}
	return c
}

func (f *Frame) enter(p *page, row int, c *column, coded uint64) {
	if !c.numeric && c.kind == sweep.ParameterKind && !isSpecial(coded) {
		f.mu.Lock()
		c.numeric = true
		f.names.AddParameter(c.name, true)
		f.mu.Unlock()
	}
	p.set(c, row, coded)
}

func (f *Frame) add(c *column) {
	c.constant, c.null, c.missing, c.lacking = missing, missing, f.loaded.Rows > 0, f.loaded.Rows > 0
	f.columns = append(f.columns, c)
	f.byName[c.id()] = c
	switch members := f.members[c.kind]; c.kind {
	case sweep.ParameterKind:
		members[c.name] = c
		f.names.AddParameter(c.name, false)
	case sweep.MetricKind:
		members[c.name] = c
		f.names.AddMetric(c.name)
	case sweep.FieldKind:
	}
}

// encode returns a value that is written as JSON in 64 bits.
func (f *Frame) encode(c *column, raw []byte) uint64 {
	if known, ok := c.interned[string(raw)]; ok {
		return known
	}
	value := f.parse(c, raw)
	if c.kind == sweep.ParameterKind && len(c.interned) < maxInterned {
		if c.interned == nil {
			c.interned = map[string]uint64{}
		}
		c.interned[string(raw)] = value
	}
	return value
}

func (f *Frame) parse(c *column, raw []byte) uint64 {
	e := entry{string(raw), "json"}
	switch raw[0] {
	case '"':
		e = entry{text(raw), "text"}
	case 't', 'f':
		e.kind = "boolean"
	case 'n':
		if c.kind != sweep.ParameterKind {
			return missing
		}
		e.kind = "null"
	case '{', '[':
	default:
		v, err := strconv.ParseFloat(string(raw), 64)
		const exact = 1 << 53
		if err == nil && (math.Abs(v) < exact || c.kind == sweep.MetricKind || bytes.ContainsAny(raw, ".eE")) {
			return number(v)
		}
		if _, whole := new(big.Int).SetString(string(raw), 10); whole {
			e.kind = "large"
		}
	}
	return f.code(c, e)
}

// code returns an entry of a column's dictionary in 64 bits.
func (f *Frame) code(c *column, e entry) uint64 {
	code, ok := c.codes[e]
	if !ok && len(c.entries) >= maxTexts && e.kind != "null" {
		e = entry{"… one of more than 65,535 texts", "text"}
		code, ok = c.codes[e]
	}
	if ok {
		return code
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.codes == nil {
		c.codes = map[entry]uint64{}
	}
	c.entries = append(c.entries, e)
	code = special | uint64(len(c.entries))
	if c.codes[e] = code; e.kind == "null" {
		c.null = code
	}
	return code
}

// save writes the trials from a row on, all of one page.
func (f *Frame) save(from int64, p *page) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0 // rows up to the last one that there is
	var raw [8 * chunk]byte
	var was, is [chunk]byte
	before, after := was[:len(p.states)], is[:len(p.states)]
	if err := readFull(f.states, before, from); err != nil {
		return err
	}
	var change Counts
	for i, s := range p.states {
		change[before[i]]--
		change[s]++
		after[i] = byte(s)
		if s != None {
			n = i + 1
		}
	}
	change[None] = 0
	// What cannot be written counts as not read: the states come last, and back if they
	// come in part.
	absent := slices.Repeat([]uint64{missing}, len(p.states))
	for _, c := range f.columns {
		if c.virtual != nil {
			continue
		}
		values, ok := p.values[c]
		if !ok {
			values = absent
		}
		if err := f.saveColumn(c, from, p.states, values, raw[:]); err != nil {
			return err
		}
	}
	if _, err := f.states.WriteAt(after, from); err != nil {
		_, again := f.states.WriteAt(before, from)
		return errors.Join(err, again)
	}
	pageNo := from / chunk
	for int64(len(f.pages)) <= pageNo {
		f.pages = append(f.pages, Counts{})
	}
	for s := range change {
		f.loaded.Counts[s] += change[s]
		f.pages[pageNo][s] += change[s]
	}
	f.loaded.Rows = max(f.loaded.Rows, from+int64(n))
	f.loaded.Version++
	return nil
}

// saveColumn writes a column from a row on; as long as all values are equal, there is
// nothing to write.
func (f *Frame) saveColumn(c *column, from int64, states []State, values []uint64, raw []byte) error {
	equal := true
	last := missing - 1 // no value
	for i, s := range states {
		if s == None {
			continue
		}
		value := values[i]
		if value != last { // what repeats need not be noted again
			c.note(value)
			last = value
		}
		if !c.seen && f.loaded.Rows == 0 {
			c.seen, c.constant = true, value
		}
		equal = equal && value == c.constant
	}
	if equal && c.file == nil {
		return nil
	}
	if c.file == nil {
		file, err := f.file()
		if err != nil {
			return err
		}
		if c.constant != missing {
			for i := range chunk {
				binary.LittleEndian.PutUint64(raw[8*i:], c.constant^missing)
			}
			for at := int64(0); at < max(f.loaded.Rows, from); at += chunk {
				if _, err := file.WriteAt(raw[:8*chunk], 8*at); err != nil {
					return errors.Join(err, file.Close())
				}
			}
		}
		c.file = file
	}
	for i, value := range values {
		binary.LittleEndian.PutUint64(raw[8*i:], value^missing)
	}
	_, err := c.file.WriteAt(raw[:8*len(values)], 8*from)
	return err
}

// Around returns spans that have all these trials, one a page.
func Around(trials []int64) (spans []Span) {
	for _, index := range slices.Sorted(slices.Values(trials)) {
		if last := len(spans) - 1; last >= 0 && spans[last].From/chunk == index/chunk {
			spans[last].Until = index + 1
			continue
		}
		spans = append(spans, Span{index, index + 1})
	}
	return spans
}

// Unfinished returns the spans of the trials from one index up to another that are to be read
// again, at most one a page: those that were not read, or have no result, or, if retried is true,
// may have been retried. So an update costs what has changed, not what there is.
func (f *Frame) Unfinished(from, until int64, retried bool) (spans []Span, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var raw [chunk]byte
	for no := from / chunk; no*chunk < until; no++ {
		if f.finished(no, min(chunk, until-no*chunk), retried) {
			continue
		}
		span := Span{max(from, no*chunk), min(until, (no+1)*chunk)}
		states := raw[:span.Until-span.From]
		if err := readFull(f.states, states, span.From); err != nil {
			return nil, err
		}
		for len(states) > 0 && ended(State(states[len(states)-1]), retried) {
			states = states[:len(states)-1]
			span.Until--
		}
		for len(states) > 0 && ended(State(states[0]), retried) {
			states = states[1:]
			span.From++
		}
		if len(states) > 0 {
			spans = append(spans, span)
		}
	}
	return spans, nil
}

// finished reports whether so many trials of a page have ended, without a look at each.
func (f *Frame) finished(pageNo, trials int64, retried bool) bool {
	if pageNo >= int64(len(f.pages)) {
		return false
	}
	n := int64(0)
	for s, count := range f.pages[pageNo] {
		if ended(State(s), retried) {
			n += count
		}
	}
	return n >= trials
}

// ended reports whether a trial of a state stays as it is.
func ended(s State, retried bool) bool {
	switch s {
	case Completed, Diverged, Stopped, Skipped:
		return true
	case Failed, Cancelled:
		return !retried
	}
	return false
}
