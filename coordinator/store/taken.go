package store

import "sync"

// taken remembers how far the pending trials of each class were taken, so that the next
// ones are looked for behind. Postgres keeps the index entries of those that were taken
// until they are vacuumed, and as long as somebody reads from an old snapshot: a search from
// the first trial on reads all of them.
type taken struct {
	mu sync.Mutex
	// last has the largest index below which no trial is known to be pending.
	last map[class]int64
}

// none is before the first index.
const none int64 = -1

// of is the index after which the pending trials of a class are looked for.
func (k *taken) of(c class) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if last, known := k.last[c]; known {
		return last
	}
	return none
}

// advance tells that all up to an index were taken. The caller has claimed the sweep.
func (k *taken) advance(c class, last int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == nil {
		k.last = map[class]int64{}
	}
	k.last[c] = last
}

// back tells that a trial is pending, or may be.
func (k *taken) back(c class, index int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if last, known := k.last[c]; known && last >= index {
		k.last[c] = index - 1
	}
}
